-- Lets one job of a class that was in quarantine try whether it still crashes.
-- KEYS[1] "brood:quarantine"    KEYS[2] "brood:quarantine:probe:<class>"
-- ARGV[1] class    ARGV[2] jid    ARGV[3] libraries of the worker
-- ARGV[4] seconds to live, unless a worker reports its end
-- Returns 1 if this job may begin, else 0.  Sent again it answers the same.  Answers 0 also if the class has crashed with these
-- libraries meanwhile, which the worker may not know yet: one crash was enough.
-- include: pieces/key_types.lua
if not is(KEYS[1], "hash") then return refuse(KEYS[1]) end
local holder = redis.call("GET", KEYS[2])
if holder then return holder == ARGV[2] and 1 or 0 end
local libraries = (redis.call("HGET", KEYS[1], ARGV[1]) or ""):match("^%S*")
if ("," .. libraries .. ","):find("," .. ARGV[3] .. ",", 1, true) then return 0 end
redis.call("SET", KEYS[2], ARGV[2], "EX", ARGV[4])
return 1
