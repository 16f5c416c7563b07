-- Lets go of a lock if it is still held by whom we saw holding it.
-- KEYS[1] the lock    ARGV[1] who held it
-- Returns 1, or 0.
if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call("DEL", KEYS[1])
