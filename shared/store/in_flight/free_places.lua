-- Counts the jobs of capped queues that may be fetched now.
-- KEYS, for each queue: the queue, or the turns of tenants, and the set of each of its caps
-- ARGV, for each queue: the number of its caps, and the number of workers that each of them lets in
-- Returns a number for each queue.
-- include: pieces/caps.lua
local numbers, known, key, arg = {}, {}, 1, 1
while arg <= #ARGV do
  local length, caps, free = redis.pcall(KEYS[key]:find("brood:tenants:", 1, true) and "ZCARD" or "LLEN", KEYS[key]), {}, math.huge
  if type(length) == "table" then length = 0 end
  for i = 1, tonumber(ARGV[arg]) do
    local set = KEYS[key + i]
    known[set] = known[set] or {key = set, most = tonumber(ARGV[arg + i])}
    caps[i] = known[set]
  end
  key, arg = key + #caps + 1, arg + #caps + 1
  local is_free = length > 0 and places_of(caps)
  for _, cap in ipairs(is_free and caps or {}) do free = math.min(free, cap.free) end
  numbers[#numbers + 1] = is_free and math.min(length, free) or 0
end
return numbers
