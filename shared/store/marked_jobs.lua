-- Finds the jobs in a page of a list or sorted set whose text contains one of some texts.
-- KEYS[1] the key    ARGV[1] position of the first    ARGV[2] number to search    ARGV[3...] the texts
-- Returns the number of jobs searched, and for each job found: its position, its text, and its score ("" in a list).  If
-- jobs are large, it may search fewer than asked although there are more.
local kind = redis.call("TYPE", KEYS[1]).ok
local last = ARGV[1] + ARGV[2] - 1
local at_once, most_at_once, enough_bytes = 8, 512, 1000000
local found, looked_at, bytes = {0}, 0, 0
local function is_marked(text)
  for i = 3, #ARGV do
    if text:find(ARGV[i], 1, true) then return true end
  end
end
local function look(text, score)
  if is_marked(text) then
    found[#found + 1] = ARGV[1] + looked_at
    found[#found + 1] = text
    found[#found + 1] = score
  end
  looked_at = looked_at + 1
  bytes = bytes + #text
end
local function look_at_some(first, last)
  local before = looked_at
  if kind == "list" then
    for _, text in ipairs(redis.call("LRANGE", KEYS[1], first, last)) do look(text, "") end
  elseif kind == "zset" then
    local entries = redis.call("ZREVRANGE", KEYS[1], first, last, "WITHSCORES")
    for i = 1, #entries, 2 do look(entries[i], entries[i + 1]) end
  end
  return looked_at - before == last - first + 1
end
local first = tonumber(ARGV[1])
while first <= last and look_at_some(first, math.min(first + at_once - 1, last)) and bytes < enough_bytes do
  first = first + at_once
  at_once = math.min(2 * at_once, most_at_once)    -- each call walks the list from its nearer end
end
found[1] = looked_at
return found
