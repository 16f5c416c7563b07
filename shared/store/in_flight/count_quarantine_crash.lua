-- Counts a crash of one fingerprint, and puts its class into quarantine when there were too many.
-- KEYS[1] "brood:quarantine"    KEYS[2] "brood:quarantine:crashes:<fingerprint>"    KEYS[3] "brood:quarantine:probe:<class>"
-- ARGV[1] class    ARGV[2] fingerprint    ARGV[3] libraries    ARGV[4] worker that died
-- ARGV[5] number of crashes that puts it into quarantine    ARGV[6] if they are within this number of seconds
-- Returns the count, and 1 if this crash put the class into quarantine, 2 if it was there already, else 0.  Sent again it
-- counts nothing.
-- include: pieces/key_types.lua
if not is(KEYS[1], "hash") then return refuse(KEYS[1]) end
if not is(KEYS[2], "zset") then return refuse(KEYS[2]) end
local time = redis.call("TIME")
local now = tonumber(time[1]) + tonumber(time[2]) / 1e6
redis.call("ZREMRANGEBYSCORE", KEYS[2], "-inf", now - tonumber(ARGV[6]))    -- first a write that frees memory
redis.call("ZADD", KEYS[2], "NX", string.format("%.6f", now), ARGV[4])
redis.call("EXPIRE", KEYS[2], ARGV[6])
local crashes = redis.call("ZCARD", KEYS[2])

local known = redis.call("HGET", KEYS[1], ARGV[1])
local libraries = known and known:match("^(%S+)")
if libraries and ("," .. libraries .. ","):find("," .. ARGV[3] .. ",", 1, true) then return {crashes, 2} end
-- With other libraries one crash is enough, since those were on trial.  The older libraries stay known: in a rolling restart
-- there are workers of both.
if not known and crashes < tonumber(ARGV[5]) then return {crashes, 0} end
libraries = ARGV[3] .. (libraries and "," .. libraries or "")
local last = 0
for _ = 1, 4 do last = libraries:find(",", last + 1, true) or #libraries + 1 end
redis.call("HSET", KEYS[1], ARGV[1],
           string.format("%s %s %.3f %d 0", libraries:sub(1, last - 1), ARGV[2], now, crashes))
redis.call("DEL", KEYS[3])
return {crashes, 1}
