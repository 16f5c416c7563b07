-- Lets go of a lock whose incarnation is gone and has left it.
-- KEYS[1] in-flight hash    KEYS[2] the lock    ARGV[1] "<slot>.<incarnation>"    ARGV[2] who holds the lock
-- Returns 1; 0 when the incarnation is there, or another holds the lock.
if redis.call("HEXISTS", KEYS[1], ARGV[1]) == 1 or redis.call("GET", KEYS[2]) ~= ARGV[2] then return 0 end
return redis.call("DEL", KEYS[2])
