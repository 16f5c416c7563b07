-- How many jobs of capped queues may be fetched now.
-- KEYS of each queue: the queue, and the set of its cap    ARGV the most places of each
-- Returns a number for each.
-- include: pieces/caps.lua
local numbers = {}
for i = 1, #KEYS, 2 do
  local length, cap = redis.pcall("LLEN", KEYS[i]), {key = KEYS[i + 1], most = tonumber(ARGV[(i + 1) / 2])}
  if type(length) == "table" then length = 0 end
  numbers[#numbers + 1] = length > 0 and place_of(cap) and math.min(length, cap.free) or 0
end
return numbers
