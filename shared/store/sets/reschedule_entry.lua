-- Gives an entry of a sorted set another score, if it is still there as it was read.
-- KEYS[1] set    ARGV[1] member    ARGV[2] its score as read    ARGV[3] its new score
-- Returns 1; 0 when somebody else moved, deleted or rescheduled it.
if redis.call("ZSCORE", KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call("ZREM", KEYS[1], "\0")    -- changes nothing; a full Redis lets through what follows a write that frees memory
redis.call("ZADD", KEYS[1], ARGV[3], ARGV[1])
return 1
