-- How much of a limit with a period is used now, and how that is stored:
--   bucket   {l = used in the period, t = which one, counted from 1970}
--   leaky    {l = how full it was, t = when, in ms}; it runs empty in one interval
--   window   a sorted set of "<number> <used>" by the time in ms, and "sum", whose score is -1 - the sum of them
local function used_in_hash(kind, key, amount, interval, now)
  local held = redis.call("HMGET", key, "l", "t")
  local level, at = tonumber(held[1] or "") or 0, tonumber(held[2] or "") or 0
  if kind == "bucket" then
    local period = math.floor(now / interval)
    return at == period and level or 0, period
  end
  if at > now + interval then return 0, now end    -- written while the clock was ahead
  return math.max(0, level - math.max(0, now - at) * amount / interval), now
end
local function used_in_window(key, interval, now)
  local sum = -1 - (tonumber(redis.call("ZSCORE", key, "sum") or "") or -1)
  local gone = 0
  local function without(from, to)
    local members = redis.call("ZRANGEBYSCORE", key, from, to)
    for _, member in ipairs(members) do sum = sum - (tonumber(member:match(" (%d+)$") or "") or 0) end
    gone = gone + #members
  end
  without(0, now - interval)
  without("(" .. now + interval, "+inf")    -- written while the clock was ahead
  return math.max(0, sum), gone
end
-- Removes what no longer counts.
local function forget_in_window(key, interval, now, sum)
  redis.call("ZREMRANGEBYSCORE", key, 0, now - interval)
  redis.call("ZREMRANGEBYSCORE", key, "(" .. now + interval, "+inf")
  redis.call("ZADD", key, -1 - sum, "sum")
end
