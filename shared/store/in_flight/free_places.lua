-- How many jobs of capped queues may be fetched now.
-- KEYS of each queue: the queue, and the set of each of its caps    ARGV of each the most places of these, with spaces
-- Returns a number for each.
-- include: pieces/caps.lua
local numbers, known, at = {}, {}, 1
for i = 1, #ARGV do
  local length, caps, free = redis.pcall("LLEN", KEYS[at]), {}, math.huge
  if type(length) == "table" then length = 0 end
  for most in ARGV[i]:gmatch("%d+") do
    at = at + 1
    known[KEYS[at]] = known[KEYS[at]] or {key = KEYS[at], most = tonumber(most)}
    caps[#caps + 1] = known[KEYS[at]]
  end
  at = at + 1
  local is_free = length > 0 and places_of(caps)
  for _, cap in ipairs(is_free and caps or {}) do free = math.min(free, cap.free) end
  numbers[i] = is_free and math.min(length, free) or 0
end
return numbers
