-- Takes a list or a set of jobs away from all who read it, in one step, so that what is pushed meanwhile is not among it.
-- KEYS[1] it    KEYS[2] where it lies from then on
-- For a queue: KEYS[3] "queues"    ARGV[1] its name there
-- Returns 1, or 0 when one that was taken before is still there and must go first; and how many jobs lie aside.
local function size()
  local kind = redis.call("TYPE", KEYS[2]).ok
  return kind == "list" and redis.call("LLEN", KEYS[2]) or kind == "zset" and redis.call("ZCARD", KEYS[2]) or 0
end
if redis.call("EXISTS", KEYS[2]) == 1 then return {0, size()} end
if redis.call("EXISTS", KEYS[1]) == 1 then redis.call("RENAME", KEYS[1], KEYS[2]) end
if KEYS[3] then redis.call("SREM", KEYS[3], ARGV[1]) end
return {1, size()}
