-- Takes off KEYS and ARGV what the sender says of caps: ARGV[3] has their count behind a space, KEYS end with the set of
-- each, and ARGV with "<most> <place among the queues asked> ...".
local caps, wants, capped = {}, ARGV[3]:match("^(%d+) (%d+)$")
if wants then
  ARGV[3] = wants
  for _ = 1, tonumber(capped) do
    local cap = {key = table.remove(KEYS)}
    for number in table.remove(ARGV):gmatch("%d+") do
      number = tonumber(number)
      if not cap.most then
        cap.most = number
      else
        caps[number] = caps[number] or {}
        table.insert(caps[number], cap)
      end
    end
  end
end
-- Before a job of a capped queue is taken: a list that gets none after all counts for nothing.  False: we may not note it,
-- and so there is no place.  What was settled before stays settled.
local function note_place(cap, list)
  if #cap.gone > 0 then redis.pcall("SREM", cap.key, unpack(cap.gone, 1, math.min(#cap.gone, 1000))) end
  if type(redis.pcall("SADD", cap.key, list)) == "table" then return false end
  redis.pcall("EXPIRE", cap.key, 2592000)
  local name = cap.key:match("brood:cap:(.*)$")
  local known = cap.key:sub(1, -#name - 2) .. "s"    -- "brood:caps"
  if redis.pcall("HGET", known, name) ~= tostring(cap.most) then redis.pcall("HSET", known, name, cap.most) end
  return true
end
local function note_places(caps, list)
  for _, cap in ipairs(caps) do
    if not note_place(cap, list) then return false end
  end
  return true
end
