-- Lets one job of a class that was in quarantine try whether it still crashes.
-- KEYS[1] "brood:quarantine:probe:<class>"    ARGV[1] jid    ARGV[2] for how many seconds, should nobody say how it ended
-- Returns 1 if this job may, else 0.  Sent again it answers the same.
local holder = redis.call("GET", KEYS[1])
if holder then return holder == ARGV[1] and 1 or 0 end
redis.call("SET", KEYS[1], ARGV[1], "EX", ARGV[2])
return 1
