-- Pauses a periodic job, or resumes it from now on.
-- KEYS[1] its state
-- ARGV[1] "1": pauses it
-- Returns {1; 0 if it was paused or resumed before; -1 if there is none, and where the configuration pauses it, "" for
-- nowhere}.
if redis.call("TYPE", KEYS[1]).ok ~= "hash" then return {-1, ""} end
local held = redis.call("HGET", KEYS[1], "held") or ""
if ARGV[1] == "1" then return {redis.call("HSETNX", KEYS[1], "paused", "1"), held} end
if redis.call("HDEL", KEYS[1], "paused") == 0 then return {0, held} end
local now, last = redis.call("TIME")[1], redis.call("HGET", KEYS[1], "last")
if tonumber(now) > (tonumber(last or "") or 0) then redis.call("HSET", KEYS[1], "last", now) end
return {1, held}
