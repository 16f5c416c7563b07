-- Moves a due member that no queue can take to the dead set, if it is still there and its score is as read.
-- KEYS[1] "schedule" or "retry"    KEYS[2] "dead"
-- ARGV[1] member as read    ARGV[2] its score as read    ARGV[3] member to keep    ARGV[4] its score, now in seconds
-- ARGV[5] oldest score to keep in "dead"    ARGV[6] size of "dead"
-- After these keys and arguments come the holdings of the job, see pieces/let_go.lua.
-- Returns as move_due does: 1 if it was moved; 1 if another process moved, deleted or rescheduled it; 1 if it stays because
-- "dead" is no sorted set.
-- include: pieces/let_go.lua
local kind = redis.call("TYPE", KEYS[2]).ok
if kind ~= "zset" and kind ~= "none" then return {0, 0, 1} end
if redis.call("ZSCORE", KEYS[1], ARGV[1]) ~= ARGV[2] then return {0, 1, 0} end
-- Changes nothing, but a full Redis accepts what follows, and a missing right to remove shows before anything is added.
redis.call("ZREM", KEYS[1], "\0")
redis.call("ZADD", KEYS[2], ARGV[4], ARGV[3])
redis.call("ZREM", KEYS[1], ARGV[1])
if let_go then let_go(1) end
redis.pcall("ZREMRANGEBYSCORE", KEYS[2], "-inf", ARGV[5])
redis.pcall("ZREMRANGEBYRANK", KEYS[2], 0, "-" .. ARGV[6])
return {1, 0, 0}
