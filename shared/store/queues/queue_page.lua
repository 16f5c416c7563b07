-- A page of a queue, from its head: after what was seen, wherever that is by now.  A job that has joined since moved
-- the others on by one.  A job that has left at the tail moved nothing, but here it looks like one that left at the
-- head: so some jobs may come twice, and none is skipped.
-- KEYS[1] queue
-- ARGV[1] position behind the last job seen    ARGV[2] size of the queue when it was, "" for the first page    ARGV[3] how many
-- Returns {size, position of the first, {payloads}}.
local size = redis.call("LLEN", KEYS[1])
local first = tonumber(ARGV[1])
if ARGV[2] ~= "" then first = math.max(0, first + size - ARGV[2]) end
return {size, first, redis.call("LRANGE", KEYS[1], first, first + ARGV[3] - 1)}
