-- Reads the entries of a sorted set after the last one seen.
-- KEYS[1] set
-- ARGV[1] "REV": from the highest score to the lowest    ARGV[2] number of entries
-- ARGV[3], ARGV[4] score and member of the last entry that was seen, "" and "" to begin with the first
-- ARGV[5], ARGV[6] those of an earlier one that is more likely to be there still, or "" and ""
-- Returns {member, score, ...}.  If both have gone, all remaining entries with the first one's score come again.
local reverse = ARGV[1] == "REV"
local function behind(score, member)
  if score == "" or redis.call("ZSCORE", KEYS[1], member) ~= score then return 0 end
  return 1 + redis.call(reverse and "ZREVRANK" or "ZRANK", KEYS[1], member)
end
local first = behind(ARGV[3], ARGV[4])
if first == 0 and ARGV[3] ~= "" then
  local passed = reverse and redis.call("ZCOUNT", KEYS[1], "(" .. ARGV[3], "+inf") or redis.call("ZCOUNT", KEYS[1], "-inf", "(" .. ARGV[3])
  first = math.max(passed, behind(ARGV[5], ARGV[6]))
end
return redis.call(reverse and "ZREVRANGE" or "ZRANGE", KEYS[1], first, first + ARGV[2] - 1, "WITHSCORES")
