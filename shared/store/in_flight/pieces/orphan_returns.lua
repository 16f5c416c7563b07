-- Counts how often a payload has come back from workers whose end no supervisor saw, within 72 h.  If Redis refuses to count,
-- the scripts go on without.
local counted_for = 259200
-- The counter has the prefix of the other keys.
local recovered = retry_key:sub(1, -6) .. "brood:recovered:"
local function returns_of(payload) return recovered .. redis.sha1hex(payload) end
local function count_return(payload)
  redis.pcall("INCR", returns_of(payload))
  redis.pcall("EXPIRE", returns_of(payload), counted_for)
end
