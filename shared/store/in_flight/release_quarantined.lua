-- Puts a job that waits in quarantine back to the head of its queue.
-- KEYS[1] "brood:quarantined"    KEYS[2] "queues"    KEYS[3] its queue    ARGV[1] the job    ARGV[2] its queue's name
-- Returns 1, or 0 if it is no longer there.
-- include: pieces/key_types.lua
-- include: pieces/enter_tenant.lua
for i, wanted in ipairs({"zset", "set", "list"}) do
  if not is(KEYS[i], wanted) then return refuse(KEYS[i]) end
end
if not redis.call("ZSCORE", KEYS[1], ARGV[1]) then return 0 end
redis.call("ZREM", KEYS[1], "\0")    -- changes nothing: a missing right to remove shows before anything is added
redis.call("SADD", KEYS[2], ARGV[2])
redis.call("RPUSH", KEYS[3], ARGV[1])
redis.call("ZREM", KEYS[1], ARGV[1])
enter_tenant(KEYS[3])
return 1
