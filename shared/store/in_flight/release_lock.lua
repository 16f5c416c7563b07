-- Lets go of a lock if it still has this holder.
-- KEYS[1] the lock    ARGV[1] its holder as read
-- Returns 1, or 0.
if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call("DEL", KEYS[1])
