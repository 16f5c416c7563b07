-- Publishes the job classes of one build, and notes that workers of it run.
-- KEYS[1] "brood:classes"    KEYS[2] "brood:classes:seen"
-- ARGV[1] the build    ARGV[2] its document; "": it is published already
-- ARGV[3] seconds after which an unseen build counts as gone    ARGV[4] seconds for which a gone build is kept
-- ARGV[5] number of gone builds to keep
-- Returns 1; 0 when the document is not known and must be sent.
local now = tonumber(redis.call("TIME")[1])
local function is_recent(last) return math.abs(now - tonumber(last)) <= tonumber(ARGV[3]) end    -- far ahead is gone, too
-- Most often only the time changes.
if ARGV[2] == "" then
  if redis.call("HEXISTS", KEYS[1], ARGV[1]) == 0 then return 0 end
  local first, last = (redis.call("HGET", KEYS[2], ARGV[1]) or ""):match("^(%d+) (%d+)$")
  if last and is_recent(last) then
    redis.call("HSET", KEYS[2], ARGV[1], string.format("%d %d", math.min(now, tonumber(first)), now))
    return 1
  end
end

local function must_be_hash(key)
  local kind = redis.call("TYPE", key).ok
  return kind ~= "hash" and kind ~= "none" and redis.error_reply("WRONGTYPE " .. key .. " is a " .. kind)
end
local refusal = must_be_hash(KEYS[1]) or must_be_hash(KEYS[2])
if refusal then return refusal end

local since, gone, known = now, {}, {}
local seen = redis.call("HGETALL", KEYS[2])
for i = 1, #seen, 2 do
  local first, last = string.match(seen[i + 1], "^(%d+) (%d+)$")
  local age = last and math.abs(now - tonumber(last)) or math.huge
  local is_gone = not last or not is_recent(last)
  known[seen[i]] = true
  if seen[i] == ARGV[1] then
    if not is_gone then since = math.min(now, tonumber(first)) end
  elseif is_gone then
    gone[#gone + 1] = {age, seen[i]}
  end
end
table.sort(gone, function(a, b) return a[1] < b[1] end)
for i, build in ipairs(gone) do
  if i > tonumber(ARGV[5]) or build[1] > tonumber(ARGV[4]) then
    redis.call("HDEL", KEYS[1], build[2])
    redis.call("HDEL", KEYS[2], build[2])
  end
end
for _, build in ipairs(redis.call("HKEYS", KEYS[1])) do
  if not known[build] and build ~= ARGV[1] then redis.call("HDEL", KEYS[1], build) end
end
if ARGV[2] ~= "" then redis.call("HSET", KEYS[1], ARGV[1], ARGV[2]) end
redis.call("HSET", KEYS[2], ARGV[1], string.format("%d %d", since, now))
return 1
