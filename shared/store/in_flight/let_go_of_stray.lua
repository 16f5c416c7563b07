-- Lets go of a lock that a vanished incarnation has left behind.
-- KEYS[1] in-flight hash    KEYS[2] the lock    ARGV[1] "<slot>.<incarnation>"    ARGV[2] who holds the lock
-- Returns 1; 0 if the incarnation is registered, or the lock has another holder.
if redis.call("HEXISTS", KEYS[1], ARGV[1]) == 1 or redis.call("GET", KEYS[2]) ~= ARGV[2] then return 0 end
return redis.call("DEL", KEYS[2])
