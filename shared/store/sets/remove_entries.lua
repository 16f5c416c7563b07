-- Removes entries of a sorted set, each if it is still there as it was read.
-- KEYS[1] set    ARGV: the members, then their scores, as read
-- Returns how many were removed.
local entries = #ARGV / 2
local scores = redis.call("ZMSCORE", KEYS[1], unpack(ARGV, 1, entries))
local members = {}
for i = 1, entries do
  if scores[i] == ARGV[entries + i] then members[#members + 1] = ARGV[i] end
end
return #members > 0 and redis.call("ZREM", KEYS[1], unpack(members)) or 0
