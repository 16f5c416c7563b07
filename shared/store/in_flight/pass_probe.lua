-- Notes that the job on trial has ended without a crash: another may try, or the class is free.
-- KEYS[1] "brood:quarantine"    KEYS[2] "brood:quarantine:probe:<class>"
-- ARGV[1] class    ARGV[2] jid    ARGV[3] number of probes that must pass
-- Returns 1 when the class is free by this, else 0.  Sent again it finds another job on trial, or none.
-- include: pieces/key_types.lua
if not is(KEYS[1], "hash") then return refuse(KEYS[1]) end
if redis.call("GET", KEYS[2]) ~= ARGV[2] then return 0 end
redis.call("DEL", KEYS[2])
local known = redis.call("HGET", KEYS[1], ARGV[1])
local before, passed = (known or ""):match("^(.*) (%d+)$")
if not before then return 0 end
if tonumber(passed) + 1 >= tonumber(ARGV[3]) then
  redis.call("HDEL", KEYS[1], ARGV[1])
  return 1
end
redis.call("HSET", KEYS[1], ARGV[1], string.format("%s %d", before, tonumber(passed) + 1))
return 0
