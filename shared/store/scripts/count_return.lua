-- Counts one more return of a payload from a worker whose end nobody saw.
-- KEYS: none, the counter is named by the payload    ARGV[1] prefix of the counter    ARGV[2] SHA-1 of the payload
-- Returns the new count.
local counter = ARGV[1] .. ARGV[2]
redis.call("EXPIRE", counter, 259200)    -- first a write that frees memory: a full Redis lets the rest through
local returns = redis.call("INCR", counter)
redis.call("EXPIRE", counter, 259200)
return returns
