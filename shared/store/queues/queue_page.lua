-- Reads the page of a queue, from its head, that follows the jobs seen.  Their positions may have changed.  A job that has
-- joined since has moved the others by one.  A job that has left at the tail has moved none, but only the size shows it, as
-- if it had left at the head.  So some jobs may come twice, and none is skipped.
-- KEYS[1] queue
-- ARGV[1] position behind the last job seen    ARGV[2] size of the queue at that time, "" for the first page
-- ARGV[3] number of jobs
-- Returns {size, position of the first, {payloads}}.
local size = redis.call("LLEN", KEYS[1])
local first = tonumber(ARGV[1])
if ARGV[2] ~= "" then first = math.max(0, first + size - ARGV[2]) end
return {size, first, redis.call("LRANGE", KEYS[1], first, first + ARGV[3] - 1)}
