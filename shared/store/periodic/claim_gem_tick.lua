-- Claims a tick of a schedule of the gem sidekiq-cron, as the gem does, and pushes its job.
-- KEYS[1] the schedule    KEYS[2] its ticks    KEYS[3] its ids    KEYS[4] its queue    KEYS[5] "queues"
-- ARGV[1] the tick as a score    ARGV[2] the tick in words    ARGV[3] the payload    ARGV[4] the time of its last push as read
-- ARGV[5] that time from now on    ARGV[6] new member of the ids    ARGV[7] number of ids to keep
-- ARGV[8] ticks below this score go
-- Returns 1; 0 if another process has claimed the tick, or if the schedule is disabled or gone.
-- include: pieces/enter_tenant.lua
local function must_be(wanted, key)
  local kind = redis.call("TYPE", key).ok
  return kind ~= wanted and kind ~= "none" and redis.error_reply("WRONGTYPE " .. key .. " is a " .. kind)
end
local refusal = must_be("hash", KEYS[1]) or must_be("zset", KEYS[2]) or must_be("list", KEYS[3]) or must_be("list", KEYS[4]) or
                must_be("set", KEYS[5])
if refusal then return refusal end
local status, last = unpack(redis.call("HMGET", KEYS[1], "status", "last_enqueue_time"))
if status ~= "enabled" or (last or "") ~= ARGV[4] then return 0 end
if redis.call("ZSCORE", KEYS[2], ARGV[2]) then return 0 end
-- These writes change nothing that matters.  They fail before anything is pushed if Redis is full or we may not write these
-- keys.
redis.call("HSET", KEYS[1], "status", status)
redis.call("ZADD", KEYS[2], "XX", 0, "\0")
redis.call("ZREMRANGEBYSCORE", KEYS[2], "-inf", "(" .. ARGV[8])
redis.call("LTRIM", KEYS[3], 0, -1)
redis.call("SADD", KEYS[5], KEYS[4]:sub(#KEYS[5] + 1))    -- "queue:" is as long as "queues", whatever prefix they have

-- Only the first LPUSH below may still be refused.
redis.call("LPUSH", KEYS[4], ARGV[3])
enter_tenant(KEYS[4])
redis.call("LPUSH", KEYS[3], ARGV[6])
redis.call("LTRIM", KEYS[3], 0, tonumber(ARGV[7]) - 1)
redis.call("ZADD", KEYS[2], ARGV[1], ARGV[2])
redis.call("HSET", KEYS[1], "last_enqueue_time", ARGV[5])
return 1
