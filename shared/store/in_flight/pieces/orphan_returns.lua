-- How often a payload has come back from workers whose end nobody saw, within 72 h.  Nothing depends on the count: where
-- it is refused, it stays as it is.
local counted_for = 259200
-- It lies where the other keys do.
local recovered = retry_key:sub(1, -6) .. "brood:recovered:"
local function returns_of(payload) return recovered .. redis.sha1hex(payload) end
local function count_return(payload)
  redis.pcall("INCR", returns_of(payload))
  redis.pcall("EXPIRE", returns_of(payload), counted_for)
end
