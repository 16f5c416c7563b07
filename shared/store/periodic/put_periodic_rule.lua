-- Adds the rule of a periodic job at run time, or replaces it.  From now on no tick of the former rule is claimed.
-- KEYS[1] the rules    KEYS[2] the names of all    KEYS[3] the job's state
-- ARGV[1] its name    ARGV[2] the rule    ARGV[3] its cron and zone    ARGV[4] its definition    ARGV[5] who adds it
-- ARGV[6] "1": replaces an earlier rule    ARGV[7] most rules that there may be
-- ARGV[8] seconds for which a name counts as served after a supervisor has served it
-- ARGV[9] seconds for which the state is kept
-- Returns {1 added; 2 replaced; 0 there is one; 3 there are too many; 4 a configuration or a library has the name, and where}.
local function must_be(wanted, key)
  local kind = redis.call("TYPE", key).ok
  return kind ~= wanted and kind ~= "none" and redis.error_reply("WRONGTYPE " .. key .. " is a " .. kind)
end
local refusal = must_be("hash", KEYS[1]) or must_be("zset", KEYS[2]) or must_be("hash", KEYS[3])
if refusal then return refusal end
local now = redis.call("TIME")[1]
local rule, source, place = unpack(redis.call("HMGET", KEYS[3], "rule", "source", "place"))
local served = tonumber(redis.call("ZSCORE", KEYS[2], ARGV[1]) or "") or 0
if source ~= "redis" and tonumber(now) - served < tonumber(ARGV[8]) then return {4, place or ""} end
local known = redis.call("HEXISTS", KEYS[1], ARGV[1]) == 1
if known and ARGV[6] ~= "1" then return {0, ""} end
if not known and #redis.call("HKEYS", KEYS[1]) >= tonumber(ARGV[7]) then return {3, ""} end

redis.call("HSET", KEYS[1], ARGV[1], ARGV[2])    -- fails before all else when Redis is full
if not known and source ~= "redis" then    -- a former job of this name, and its pause
  redis.call("DEL", KEYS[3])
  rule = nil
end
redis.call("HSET", KEYS[3], "definition", ARGV[4], "seen", now, "source", "redis", "place", ARGV[5])
redis.call("HDEL", KEYS[3], "held")
if rule ~= ARGV[3] then redis.call("HSET", KEYS[3], "rule", ARGV[3], "last", now, "since", now) end
redis.call("EXPIRE", KEYS[3], ARGV[9])
redis.call("ZADD", KEYS[2], now, ARGV[1])
return {known and 2 or 1, ""}
