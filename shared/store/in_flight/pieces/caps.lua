-- Caps: of some queues only so many workers hold jobs at a time.  Who does is written in his in-flight list alone: a worker
-- has a place as long as its list of that queue holds something.  So the script that settles, gives back or recovers what
-- is in it frees the place, and nothing can be forgotten.  The set of a cap has the lists that may hold something.
local function place_of(cap)
  if cap.free then return cap.free > 0 end
  local held, lists = 0, redis.pcall("SMEMBERS", cap.key)
  cap.gone = {}
  if lists.err then lists, held = {}, cap.most end    -- no set: nobody knows who holds what
  for _, list in ipairs(lists) do
    if redis.call("TYPE", list).ok == "list" then held = held + 1 else cap.gone[#cap.gone + 1] = list end
  end
  cap.free = cap.most - held
  return cap.free > 0
end
-- In all caps that a queue has; `caps` of none is no table.
local function places_of(caps)
  for _, cap in ipairs(caps) do
    if not place_of(cap) then return false end
  end
  return true
end
