-- Notes that a supervisor serves a periodic job.
-- KEYS[1] the names of all    KEYS[2] the job's state    KEYS[3] the rules that were added at run time
-- ARGV[1] its name    ARGV[2] its rule and zone    ARGV[3] its definition
-- ARGV[4] "1": replaces another rule; else only a rule that no supervisor has served for ARGV[5] seconds
-- ARGV[6] seconds for which the state is kept after that
-- ARGV[7] and ARGV[8] where the rule is written    ARGV[9] where the configuration pauses it; "": nowhere
-- ARGV[10] the rule as read from KEYS[3]; "": it is not written there
-- Returns {1, last tick, whether it is paused, now, its microseconds}.  The first is 0 if another rule or another job has
-- the name, and 2 if KEYS[3] has another rule by now, or none.
local function must_be(wanted, key)
  local kind = redis.call("TYPE", key).ok
  return kind ~= wanted and kind ~= "none" and redis.error_reply("WRONGTYPE " .. key .. " is a " .. kind)
end
local refusal = must_be("zset", KEYS[1]) or must_be("hash", KEYS[2]) or (ARGV[10] ~= "" and must_be("hash", KEYS[3]))
if refusal then return refusal end
local now, micros = unpack(redis.call("TIME"))
if ARGV[10] ~= "" and redis.call("HGET", KEYS[3], ARGV[1]) ~= ARGV[10] then return {2, 0, 0, tonumber(now), tonumber(micros)} end
local rule, seen, definition = unpack(redis.call("HMGET", KEYS[2], "rule", "seen", "definition"))
local another = rule ~= ARGV[2] or definition ~= ARGV[3]
if another and ARGV[4] ~= "1" and tonumber(now) - (tonumber(seen or "") or 0) < tonumber(ARGV[5]) then
  return {0, 0, 0, tonumber(now), tonumber(micros)}
end
if rule ~= ARGV[2] then redis.call("HSET", KEYS[2], "rule", ARGV[2], "last", now, "since", now) end
redis.call("HSET", KEYS[2], "definition", ARGV[3], "seen", now, "source", ARGV[7], "place", ARGV[8])
if ARGV[9] ~= "" then
  redis.call("HSET", KEYS[2], "held", ARGV[9])
elseif redis.call("HDEL", KEYS[2], "held") == 1 then    -- ticks within the pause are not made up for
  redis.call("HSET", KEYS[2], "last", now)
end
redis.call("EXPIRE", KEYS[2], ARGV[6])
redis.call("ZADD", KEYS[1], now, ARGV[1])
redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", "(" .. tonumber(now) - tonumber(ARGV[6]))
local last, paused = unpack(redis.call("HMGET", KEYS[2], "last", "paused"))
paused = paused or ARGV[9] ~= ""
last = tonumber(last or "") or -1
-- If it had no tick, or one claimed while the clock was ahead, its ticks count from now on.
if last < 0 or last ~= math.floor(last) or last > tonumber(now) + 300 then
  last = tonumber(now)
  redis.call("HSET", KEYS[2], "last", now, "since", now)
end
return {1, last, paused and 1 or 0, tonumber(now), tonumber(micros)}
