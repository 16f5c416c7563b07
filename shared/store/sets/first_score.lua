-- Finds the lowest score of a sorted set, or the lowest above a bound.  Reads no member: each poll calls this, and a member
-- may be very large.
-- KEYS[1] the set    ARGV[1] the bound, "" for none
-- Returns the score; without a bound "-inf" if one is due; nil if none is due until the year 2286.
if redis.call("ZCARD", KEYS[1]) == 0 then return false end    -- the usual case
local low = ARGV[1]
if low == "" then
  local time = redis.call("TIME")
  low = string.format("%d.%06d", time[1], time[2])
  if redis.call("ZCOUNT", KEYS[1], "-inf", low) > 0 then return "-inf" end
end
local above = "(" .. low
local function spelled(score) return string.format("%.17g", score) end
local lower, upper = tonumber(low), 1e10
if lower >= upper or redis.call("ZCOUNT", KEYS[1], above, spelled(upper)) == 0 then return false end
-- Bisects: some score is above `lower` and not above `upper`, until no number lies between these.
while true do
  local middle = (lower + upper) / 2
  if middle <= lower or middle >= upper then return spelled(upper) end
  if redis.call("ZCOUNT", KEYS[1], above, spelled(middle)) > 0 then upper = middle else lower = middle end
end
