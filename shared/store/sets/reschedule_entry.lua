-- Gives an entry of a sorted set another score, if it is still there as it was read.
-- KEYS[1] set    KEYS[2] the lock that its job holds, if the lock expires
-- ARGV[1] member    ARGV[2] its score as read    ARGV[3] its new score
-- ARGV[4] the jid that must hold the lock    ARGV[5] milliseconds that it is to live at least; only with KEYS[2]
-- Returns 1; 0 if another process moved, deleted or rescheduled it.
if redis.call("ZSCORE", KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call("ZREM", KEYS[1], "\0")    -- changes nothing, but a full Redis accepts the rest after it
local holds = KEYS[2] and redis.call("TYPE", KEYS[2]).ok == "string" and redis.call("GET", KEYS[2]) == ARGV[4]
if holds then redis.call("PEXPIRE", KEYS[2] .. "~", 1) end    -- changes nothing, but fails without the right
redis.call("ZADD", KEYS[1], ARGV[3], ARGV[1])
if holds then
  local left = redis.call("PTTL", KEYS[2])    -- negative: it lives as long as its job
  if left >= 0 and left < tonumber(ARGV[5]) then redis.call("PEXPIRE", KEYS[2], ARGV[5]) end
end
return 1
