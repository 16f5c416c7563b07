-- The indices of jobs of a batch that have not ended, from one on.
-- KEYS[1] its hash    KEYS[2] its states    ARGV[1] the first index    ARGV[2] how many to look at
-- Returns the indices.
local total = tonumber(redis.call("HGET", KEYS[1], "total") or nil) or 0
local found, first = {}, tonumber(ARGV[1])
local states = redis.call("GETRANGE", KEYS[2], math.floor(first / 4), math.floor((first + ARGV[2] - 1) / 4))
for index = first, math.min(first + ARGV[2], total) - 1 do
  local byte = states:byte(math.floor(index / 4) - math.floor(first / 4) + 1) or 0
  local state = math.floor(byte / 4 ^ (3 - index % 4)) % 4
  if state < 2 then found[#found + 1] = index end
end
return found
