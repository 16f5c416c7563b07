-- Removes jobs from the midst of a queue.
-- KEYS[1] queue
-- ARGV[1] how many jobs may have joined the queue since the page was read, or left it    ARGV[2] position and payload of
-- each, as read, the head's side first: position, payload, position, payload ...
-- Returns how many were removed; the others are not there any more.
local key, wanted = KEYS[1], (#ARGV - 1) / 2
local size = redis.call("LLEN", key)
local first = math.max(0, ARGV[2] - ARGV[1])
local window = redis.call("LRANGE", key, first, ARGV[#ARGV - 1] + ARGV[1])
local places = {}    -- of each payload, the head's side first
for i, payload in ipairs(window) do
  if not places[payload] then places[payload] = {} end
  places[payload][#places[payload] + 1] = first + i - 1
end

-- Of equal payloads the one that lies where this one should be: as far from where it was as the one before.
local found, shift = {}, 0
for i = 1, wanted do
  local expected, nearest = ARGV[2 * i] + shift, nil
  local candidates = places[ARGV[2 * i + 1]] or {}
  for n, place in ipairs(candidates) do
    if not nearest or math.abs(place - expected) < math.abs(candidates[nearest] - expected) then nearest = n end
  end
  if nearest then
    local place = table.remove(candidates, nearest)
    shift = place - ARGV[2 * i]
    found[#found + 1] = place
  end
end
if #found == 0 then return 0 end

-- Redis removes from a list by value alone, and looks for it from an end: so all are made one value, which nobody else
-- sees, and go with one search from the nearer end.
redis.call("LTRIM", key, 0, -1)    -- changes nothing; after a write that may free memory a full Redis lets the rest through
local removed = "\0removed\0"
for _, place in ipairs(found) do redis.call("LSET", key, place, removed) end
local count = found[1] + found[#found] > size and -#found or #found
return redis.call("LREM", key, count, removed)
