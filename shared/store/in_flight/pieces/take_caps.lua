-- Removes the caps from the end of KEYS and ARGV: see add_caps() in caps.hpp.  KEYS end with the set of each cap.  ARGV end
-- with the number of caps, 0 for none.  Before that, for each cap: the positions of its queues among those asked, the number
-- of these queues, and the number of workers that the cap lets in.
local caps = {}
for _ = 1, tonumber(table.remove(ARGV)) do
  local cap = {key = table.remove(KEYS), most = tonumber(table.remove(ARGV))}
  for _ = 1, tonumber(table.remove(ARGV)) do
    local number = tonumber(table.remove(ARGV))
    caps[number] = caps[number] or {}
    table.insert(caps[number], cap)
  end
end
-- Notes in the set of the cap that `list` may hold a job.  Called before a job of a capped queue is taken; a list that then
-- gets no job does not count.  Returns false if Redis refuses: then there is no place, and what was settled before stays
-- settled.
local function note_place(cap, list)
  if #cap.gone > 0 then redis.pcall("SREM", cap.key, unpack(cap.gone, 1, math.min(#cap.gone, 1000))) end
  if type(redis.pcall("SADD", cap.key, list)) == "table" then return false end
  local key = cap.base_key or cap.key
  local name = key:match("brood:cap:(.*)$")
  local known = key:sub(1, -#name - 2) .. "s"    -- "brood:caps"
  redis.pcall("EXPIRE", cap.key, life_of(cap))
  name = name:match("^([^.~]+)~") or name        -- of one tenant that a configuration names; not "each.images~acme"
  if redis.pcall("HGET", known, name) ~= tostring(cap.most) then redis.pcall("HSET", known, name, cap.most) end
  return true
end
local function note_places(caps, list)
  for _, cap in ipairs(caps) do
    if not note_place(cap, list) then return false end
  end
  return true
end
