-- Frees the slots of holders whose own shards no longer list them.
-- KEYS[1] the used slots of a limit of concurrency    ARGV: holder and number of each
-- Returns the number of slots that it has freed.
local freed = 0
if redis.call("TYPE", KEYS[1]).ok ~= "zset" then return 0 end
for i = 1, #ARGV, 2 do
  if tonumber(redis.call("ZSCORE", KEYS[1], ARGV[i])) == tonumber(ARGV[i + 1]) then freed = freed + redis.call("ZREM", KEYS[1], ARGV[i]) end
end
return freed
