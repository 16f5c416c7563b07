-- Those of some jobs of a list or of a sorted set whose text has one of some texts in it.
-- KEYS[1] the key    ARGV[1] position of the first    ARGV[2] how many to look at    ARGV[3...] the texts
-- Returns how many were looked at, and each that has it: its position, its text, and its score ("" in a list).
local kind = redis.call("TYPE", KEYS[1]).ok
local last = ARGV[1] + ARGV[2] - 1
local found, looked_at = {0}, 0
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
end
if kind == "list" then
  for _, text in ipairs(redis.call("LRANGE", KEYS[1], ARGV[1], last)) do look(text, "") end
elseif kind == "zset" then
  local entries = redis.call("ZREVRANGE", KEYS[1], ARGV[1], last, "WITHSCORES")
  for i = 1, #entries, 2 do look(entries[i], entries[i + 1]) end
end
found[1] = looked_at
return found
