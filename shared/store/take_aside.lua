-- Moves a list or set of jobs aside in one step, out of reach of its readers and of later pushes.
-- KEYS[1] its key    KEYS[2] its key from then on    KEYS[3] "queues"; only for a queue
-- ARGV[1] the queue's name; only with KEYS[3]
-- Returns {1, jobs that lie aside}; {0, jobs that lie aside} if an earlier one is still there and must be cleared first.
local function size()
  local kind = redis.call("TYPE", KEYS[2]).ok
  return kind == "list" and redis.call("LLEN", KEYS[2]) or kind == "zset" and redis.call("ZCARD", KEYS[2]) or 0
end
if redis.call("EXISTS", KEYS[2]) == 1 then return {0, size()} end
if redis.call("EXISTS", KEYS[1]) == 1 then redis.call("RENAME", KEYS[1], KEYS[2]) end
if KEYS[3] then redis.call("SREM", KEYS[3], ARGV[1]) end
return {1, size()}
