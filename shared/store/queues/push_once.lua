-- Pushes a batch of jobs, unless it was pushed before.
-- KEYS[1] the number of the client's last batch    KEYS[2] the queue, or "schedule"    KEYS[3] "queues"; only with a queue
-- ARGV[1] the batch's number, one more with each    ARGV[2] seconds for which it is kept
-- ARGV[3...] payloads; for the schedule the score before each
-- Returns 1; 0 when this batch was pushed before.
-- include: pieces/enter_tenant.lua
local scheduled = #KEYS == 2
local last = redis.call("GET", KEYS[1]) or "0"
if tonumber(last) >= tonumber(ARGV[1]) then
  -- Writes something, else WAIT on a new connection would wait for nothing.  The key expires when it would have anyway.
  local left = redis.call("PTTL", KEYS[1])
  redis.call("PEXPIRE", KEYS[1], left > 0 and left or ARGV[2] * 1000)
  return 0
end
local function must_be(wanted, key)
  local kind = redis.call("TYPE", key).ok
  return kind ~= wanted and kind ~= "none" and redis.error_reply("WRONGTYPE " .. key .. " is a " .. kind)
end
local refusal = must_be(scheduled and "zset" or "list", KEYS[2]) or not scheduled and must_be("set", KEYS[3])
if refusal then return refusal end

-- Keeps the number, and fails before anything is pushed if Redis is full or we may not write the number.
redis.call("SET", KEYS[1], last, "XX", "EX", ARGV[2])
if scheduled then
  redis.call("ZADD", KEYS[2], unpack(ARGV, 3))
else
  -- "queue:" is as long as "queues", whatever prefix they have.
  redis.call("SADD", KEYS[3], KEYS[2]:sub(#KEYS[3] + 1))
  redis.call("LPUSH", KEYS[2], unpack(ARGV, 3))
  enter_tenant(KEYS[2])
end
redis.call("SET", KEYS[1], ARGV[1], "EX", ARGV[2])
return 1
