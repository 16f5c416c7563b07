-- Finds the jobs of a batch that have not ended, from an index on.
-- KEYS[1] its hash    KEYS[2] its states    ARGV[1] the first index    ARGV[2] number to search, at most 1,000
-- Returns their indices.
local total = tonumber(redis.call("HGET", KEYS[1], "total") or nil) or 0
local first, found, look = tonumber(ARGV[1]), {}, {"BITFIELD", KEYS[2]}
local last = math.min(first + ARGV[2], total) - 1
for index = first, last do
  for _, word in ipairs({"GET", "u2", "#" .. string.format("%d", index)}) do look[#look + 1] = word end
end
if last < first then return found end
for i, state in ipairs(redis.call(unpack(look))) do
  if state < 2 then found[#found + 1] = first + i - 1 end
end
return found
