-- How often a payload has come back from workers whose end no supervisor saw.
-- KEYS[1] "brood:recovered:<SHA-1 of the payload>"
-- Returns the count, 0 when there is none.
return tonumber(redis.call("GET", KEYS[1]) or 0)
