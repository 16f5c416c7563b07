-- Removes entries of a sorted set, each if it is still there as it was read.
-- KEYS[1] set    ARGV: the members, then their scores, as read
-- After these keys and arguments come the holdings of these jobs, see pieces/let_go.lua.
-- Returns the number of removed entries.
-- include: pieces/let_go.lua
local entries = #ARGV / 2
local scores = redis.call("ZMSCORE", KEYS[1], unpack(ARGV, 1, entries))
local members, places = {}, {}
for i = 1, entries do
  if scores[i] == ARGV[entries + i] then
    members[#members + 1] = ARGV[i]
    places[#places + 1] = i
  end
end
if #members == 0 then return 0 end
local removed = redis.call("ZREM", KEYS[1], unpack(members))
for _, i in ipairs(let_go and places or {}) do let_go(i) end
return removed
