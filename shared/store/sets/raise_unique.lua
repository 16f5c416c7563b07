-- Moves a dead unique job to its queue, with its lock, if it is still there as it was read.
-- KEYS[1] "dead"    KEYS[2] queue    KEYS[3] "queues"    KEYS[4] the lock
-- ARGV[1] member as read    ARGV[2] its score as read    ARGV[3] payload to push    ARGV[4] its jid
-- ARGV[5] milliseconds that the lock lives at most, "0": as long as the job    ARGV[6] "after": if another holds the lock the job
-- is moved all the same, and waits for the lock before it begins
-- Returns {"MOVED"}; {"GONE"}; {"STUCK"}: the queue is no list; or {"HELD", jid} by another, and it stays.
-- include: pieces/enter_tenant.lua
local function is(key, wanted)
  local kind = redis.call("TYPE", key).ok
  return kind == wanted or kind == "none"
end
if redis.call("ZSCORE", KEYS[1], ARGV[1]) ~= ARGV[2] then return {"GONE"} end
if not is(KEYS[2], "list") then return {"STUCK"} end
if not is(KEYS[4], "string") then return redis.error_reply("WRONGTYPE " .. KEYS[4] .. " is no lock") end
local holder = redis.call("GET", KEYS[4])
local is_held = holder and holder ~= ARGV[4]
if is_held and ARGV[6] ~= "after" then return {"HELD", holder} end

-- Changes nothing, but a full Redis accepts what follows, and a missing right to remove or lock shows before anything is added.
redis.call("ZREM", KEYS[1], "\0")
if not holder then redis.call("SET", KEYS[4], "", "XX") end
redis.call("LPUSH", KEYS[2], ARGV[3])
redis.call("ZREM", KEYS[1], ARGV[1])
if not is_held then
  if ARGV[5] == "0" then redis.call("SET", KEYS[4], ARGV[4]) else redis.call("SET", KEYS[4], ARGV[4], "PX", ARGV[5]) end
end
redis.pcall("SADD", KEYS[3], KEYS[2]:sub(#KEYS[3] + 1))    -- "queue:" is as long as "queues"
enter_tenant(KEYS[2])
return {"MOVED"}
