-- Saves the progress of an iterable job.
-- KEYS[1] "it-<jid>"
-- ARGV[1] executions    ARGV[2] cursor, as JSON    ARGV[3] run time in seconds    ARGV[4] seconds to live
-- Returns the time at which the job was cancelled; nil if it was not.
local kind = redis.call("TYPE", KEYS[1]).ok
if kind ~= "hash" and kind ~= "none" then return redis.error_reply("WRONGTYPE " .. KEYS[1] .. " is a " .. kind) end
redis.call("EXPIRE", KEYS[1], ARGV[4])    -- a full Redis serves this write, and then accepts what follows
redis.call("HSET", KEYS[1], "ex", ARGV[1], "c", ARGV[2], "rt", ARGV[3])
redis.call("EXPIRE", KEYS[1], ARGV[4])
return redis.call("HGET", KEYS[1], "cancelled")
