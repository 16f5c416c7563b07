-- A slot is held by a living incarnation, until the incarnation settles what it had in flight when it took the slot.  Its
-- field, "<number> <queue>", shows this: a settle changes the number, and a recovery removes the field.  So these scripts also
-- free the slot, without a further write.
-- A member is "<identity>/<slot>.<incarnation>", its score that number.  The score has a fraction if a slot was taken anew
-- while an earlier one may still be given back late.  If the member names a shard behind another "/", its field is in that
-- shard, and must be read there.
-- Scores are compared as numbers: from 7.2 on Redis spells one with many digits as "1.0000000009765625e+6".
local in_flight = KEYS[1]:sub(1, -7) .. "inflight:"    -- with the prefix of "brood:limits"
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
-- Returns the members of a sorted set that hold, and those that do not.  Looks at all members, or at `most` from the rank
-- `from`.
local function holders(key, from, most)
  local living, gone = {}, {}
  local members = redis.call("ZRANGE", key, from or 0, most and from + most - 1 or -1, "WITHSCORES")
  for i = 1, #members, 2 do
    local to = holds(members[i], members[i + 1]) and living or gone
    to[#to + 1] = members[i]
  end
  return living, gone
end
