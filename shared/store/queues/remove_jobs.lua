-- Removes jobs from anywhere in a queue.
-- KEYS[1] queue
-- ARGV[1] number of jobs that may have joined the queue since they were read, or left it
-- ARGV[2...] of each job its position from the head, as read, and its payload, in order from the head
-- After these keys and arguments come the holdings of these jobs, see pieces/let_go.lua.
-- Returns the number of removed jobs, and of those at the end that it left so that one call does not hold up Redis.
-- include: pieces/let_go.lua
local key, slack = KEYS[1], tonumber(ARGV[1])
local size = redis.call("LLEN", key)
local removed = "\0removed\0"
local found, first, last, shift, looked_at = 0, 0, 0, 0, 0
local marked = {}

-- Finds where the job is now.  Among equal payloads chooses the one nearest to the expected place: moved as far as the job
-- before.
local function place_of(expected, payload)
  if expected >= 0 and redis.call("LINDEX", key, expected) == payload then return expected end
  local from, nearest = math.max(0, expected - slack), nil
  local window = redis.call("LRANGE", key, from, math.max(0, expected) + slack)
  looked_at = looked_at + #window
  for i, other in ipairs(window) do
    local place = from + i - 1
    if other == payload and (not nearest or math.abs(place - expected) < math.abs(nearest - expected)) then nearest = place end
  end
  return nearest
end

redis.call("LTRIM", key, 0, -1)    -- changes nothing, but a full Redis accepts the rest after it
local i = 2
while i < #ARGV and looked_at < 10 * slack do
  local place = place_of(ARGV[i] + shift, ARGV[i + 1])
  if place then
    shift = place - ARGV[i]
    -- LREM removes by value only, and searches from one end.  So all jobs found are overwritten with one value, which exists
    -- only inside this script, and one search from the nearer end removes them.
    redis.call("LSET", key, place, removed)
    marked[#marked + 1] = {place, ARGV[i + 1], number = i / 2}
    if found == 0 then first = place end
    last = place
    found = found + 1
  end
  i = i + 2
end
if found > 0 then
  local reply = redis.pcall("LREM", key, first + last > size and -found or found, removed)
  if type(reply) == "table" then    -- we may not remove: leave the queue as it was
    for _, mark in ipairs(marked) do redis.call("LSET", key, unpack(mark)) end
    return reply
  end
  for _, mark in ipairs(let_go and marked or {}) do let_go(mark.number) end
end
return {found, (#ARGV - i + 1) / 2}
