-- Prolongs the lock of the schedulers, if it is ours.
-- KEYS[1] "brood:scheduler"
-- ARGV[1] our identity    ARGV[2] milliseconds to live
-- Returns 1, or 0 if it has expired or is another's.
if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call("PEXPIRE", KEYS[1], ARGV[2])
