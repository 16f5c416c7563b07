-- Notes one crash among the latest of its fingerprint.
-- KEYS[1] "brood:crashes"    KEYS[2] "brood:crash_stacks"    KEYS[3] "brood:crash_counts"    KEYS[4] "brood:crash_times"
-- KEYS[5] "brood:crash_days": of each fingerprint "<day>:<count> ...", of the last days on which it was noted
-- ARGV[1] fingerprint    ARGV[2] time, in seconds    ARGV[3] the crash    ARGV[4] its stack    ARGV[5] "1": with names
-- ARGV[6] number of fingerprints to keep    ARGV[7] seconds to keep them
-- ARGV[8] the day, counted from the epoch    ARGV[9] number of days to count separately
-- Returns the new count of the fingerprint.
local kinds = {"hash", "hash", "hash", "zset", "hash"}
for i, key in ipairs(KEYS) do
  local kind = redis.call("TYPE", key).ok
  if kind ~= kinds[i] and kind ~= "none" then return redis.error_reply("WRONGTYPE " .. key .. " is a " .. kind) end
end

-- First a write that frees memory: a full Redis lets the rest through.
redis.call("ZREMRANGEBYRANK", KEYS[4], 0, -1001)    -- brood never leaves more; unpack below cannot take more
local function forget(fingerprints)
  if #fingerprints == 0 then return end
  for _, key in ipairs(KEYS) do redis.call(key == KEYS[4] and "ZREM" or "HDEL", key, unpack(fingerprints)) end
end
forget(redis.call("ZRANGEBYSCORE", KEYS[4], "-inf", tonumber(ARGV[2]) - tonumber(ARGV[7])))
local room = tonumber(ARGV[6])
if not redis.call("ZSCORE", KEYS[4], ARGV[1]) then room = room - 1 end
forget(redis.call("ZRANGE", KEYS[4], 0, -room - 1))

local count = redis.call("HGET", KEYS[3], ARGV[1])
if count and not count:match("^%d+$") or count and #count > 15 then redis.call("HDEL", KEYS[3], ARGV[1]) end
redis.call("HSET", KEYS[1], ARGV[1], ARGV[3])
-- A stack with names replaces one without, never the reverse: both show the same places.
if ARGV[5] == "1" then
  redis.call("HSET", KEYS[2], ARGV[1], ARGV[4])
else
  redis.call("HSETNX", KEYS[2], ARGV[1], ARGV[4])
end
redis.call("ZADD", KEYS[4], ARGV[2], ARGV[1])
count = redis.call("HINCRBY", KEYS[3], ARGV[1], 1)

local days, today = {}, 1
local told = (redis.call("HGET", KEYS[5], ARGV[1]) or ""):sub(1, 400)    -- brood's own text is shorter
for day, times in told:gmatch("(%d+):(%d+)") do
  if #day < 8 and #times < 10 then
    if day == ARGV[8] then
      today = times + 1
    elseif math.abs(ARGV[8] - day) < tonumber(ARGV[9]) and #days + 1 < tonumber(ARGV[9]) then
      days[#days + 1] = day .. ":" .. times
    end
  end
end
days[#days + 1] = ARGV[8] .. ":" .. today
redis.call("HSET", KEYS[5], ARGV[1], table.concat(days, " "))
for _, key in ipairs(KEYS) do redis.call("EXPIRE", key, ARGV[7]) end
return count
