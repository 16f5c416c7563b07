-- Caps: at most so many workers hold jobs of a capped queue at a time.  A worker has a place as long as its in-flight list of
-- that queue holds something.  So the script that settles, gives back or recovers the jobs frees the place, and no place can
-- leak.  The set of a cap names the lists that may hold something.
-- Seconds after which a set that nothing uses goes: a day for that of one tenant.
local function life_of(cap) return cap.base_key and 86400 or 2592000 end
-- A set is renewed when a place is taken, so one that is full for long is renewed here.
local function renew_full(cap)
  local left = redis.pcall("PTTL", cap.key)
  if type(left) == "number" and left >= 0 and left < life_of(cap) * 500 then redis.pcall("EXPIRE", cap.key, life_of(cap)) end
end
local function place_of(cap)
  if cap.free then return cap.free > 0 end
  local held, lists = 0, redis.pcall("SMEMBERS", cap.key)
  cap.gone = {}
  if lists.err then lists, held = {}, cap.most end    -- no set, so its places are unknown: all count as taken
  for _, list in ipairs(lists) do
    if redis.call("TYPE", list).ok == "list" then held = held + 1 else cap.gone[#cap.gone + 1] = list end
  end
  cap.free = cap.most - held
  if cap.free <= 0 then renew_full(cap) end
  return cap.free > 0
end
-- Whether all caps of a queue have a place.  A queue without caps has no table: do not call it then.
local function places_of(caps)
  for _, cap in ipairs(caps) do
    if not place_of(cap) then return false end
  end
  return true
end
