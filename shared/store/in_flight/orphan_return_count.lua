-- How often a payload has come back from workers whose end nobody saw.
-- KEYS: none, the counter is named by the payload    ARGV[1] prefix of the counter    ARGV[2] SHA-1 of the payload
-- Returns the count, 0 when there is none.
return tonumber(redis.call("GET", ARGV[1] .. ARGV[2]) or 0)
