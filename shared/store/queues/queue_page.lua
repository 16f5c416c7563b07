-- A page of a queue, from its head: behind what was seen, wherever that is by now.  A job that joined since has moved the
-- others on by one; one that left from behind has moved nothing, but is taken for one from before: so some may come twice,
-- and none is passed over.
-- KEYS[1] queue
-- ARGV[1] position behind the last job seen    ARGV[2] size of the queue when it was, "" for the first page    ARGV[3] how many
-- Returns {size, position of the first, {payloads}}.
local size = redis.call("LLEN", KEYS[1])
local first = tonumber(ARGV[1])
if ARGV[2] ~= "" then first = math.max(0, first + size - ARGV[2]) end
return {size, first, redis.call("LRANGE", KEYS[1], first, first + ARGV[3] - 1)}
