-- Who holds a slot: a living incarnation, until it settles what it had in flight when it took the slot.  Both are written
-- in its field, "<number> <queue>", which its settle changes and its recovery removes: so a slot is free in that very
-- script, and nobody has to see to it.
-- A member is "<identity>/<slot>.<incarnation>", its score that number, with a fraction where a slot was taken anew after
-- one that may still be given back late; one that names its shard behind another "/" is written down in that one, where
-- who asks looks.
-- Scores are compared as numbers: from 7.2 on Redis spells one with many digits as "1.0000000009765625e+6".
local in_flight = KEYS[1]:sub(1, -7) .. "inflight:"    -- it lies where "brood:limits" does
local function is_of_another_shard(member) return member:match("^[^/]+/[^/]+/") ~= nil end
local function number_of(score) return math.floor(tonumber(score)) end
local function holds(member, score)
  if is_of_another_shard(member) then return true end
  local identity, field = member:match("^([^/]+)/([^/]+)$")
  if not identity then return false end
  local value = redis.pcall("HGET", in_flight .. identity, field)
  if type(value) == "table" then return true end    -- unreadable: not known to be free
  return value and tonumber(value:match("^%d+") or "") == number_of(score)
end
-- Those of a sorted set that hold, and those that do not; of all, or of so many from a rank on.
local function holders(key, from, most)
  local living, gone = {}, {}
  local members = redis.call("ZRANGE", key, from or 0, most and from + most - 1 or -1, "WITHSCORES")
  for i = 1, #members, 2 do
    local to = holds(members[i], members[i + 1]) and living or gone
    to[#to + 1] = members[i]
  end
  return living, gone
end
