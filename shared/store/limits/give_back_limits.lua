-- Gives back what a job took of its limits: slots become free, and the points used are corrected.
-- KEYS, for each limit: its used amount, the mark that a worker waits, and the list on which one waits
-- ARGV[1] the holder    ARGV[2] the number under which it has taken them
-- ARGV[3...] for each limit: its kind, and the points used minus the points wanted
-- Returns the number of slots that it has freed.  Sent again it changes only points.
local freed = 0
for i = 1, #ARGV - 2, 2 do
  local at = (i - 1) / 2 * 3
  local used, waited_for, bell = KEYS[at + 1], KEYS[at + 2], KEYS[at + 3]
  local kind, difference = ARGV[i + 2], tonumber(ARGV[i + 3])
  local found = redis.call("TYPE", used).ok
  if kind == "concurrent" and found == "zset" and tonumber(redis.call("ZSCORE", used, ARGV[1])) == tonumber(ARGV[2]) then
    freed = freed + redis.call("ZREM", used, ARGV[1])
    if redis.call("EXISTS", waited_for) == 1 and redis.call("TYPE", bell).ok ~= "string" then
      redis.pcall("LPUSH", bell, 1)
      redis.pcall("LTRIM", bell, 0, 99)
      redis.pcall("PEXPIRE", bell, 5000)
    end
  elseif kind == "points" and found == "hash" and difference ~= 0 then
    redis.call("HDEL", used, "~")    -- changes nothing: a full Redis accepts what follows
    local level = tonumber(redis.call("HGET", used, "l") or "") or 0
    level = math.max(0, level + difference)
    redis.call("HSET", used, "l", string.format("%.17g", level))
    -- A debt is kept until it has run off.
    local runs_off_in = math.ceil(level * (tonumber(redis.call("HGET", used, "ms") or "") or 0))
    if runs_off_in > redis.call("PTTL", used) then redis.call("PEXPIRE", used, string.format("%d", math.min(runs_off_in, 4e12))) end
  end
end
return freed
