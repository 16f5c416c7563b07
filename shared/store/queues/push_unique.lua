-- Pushes unique jobs, each with its lock, unless another job holds the lock.
-- KEYS[1] the queue, or "schedule"    KEYS[2] "queues"    KEYS[3...] the lock of each job; then, if the batch is
-- numbered, the number of the client's last batch
-- ARGV[1] the batch's number, one more with each; "" for none    ARGV[2] seconds for which it is kept
-- ARGV[3...] for each job: jid, milliseconds that its lock lives at most ("0": as long as the job), score ("" for the
-- queue), payload, and its fate if another job holds its lock ("": it is not pushed; "after": it is pushed
-- without the lock; "extend": it is not pushed, and that lock lives longer; "replace": it is not pushed, and the sender
-- replaces the other)
-- Returns for each job the jid that holds its lock, "" if it was pushed; {} when this batch was pushed before.
-- If no job of a batch is pushed, its number is not noted: if the batch is sent again, it is tried anew.
-- include: pieces/enter_tenant.lua
local jobs = (#ARGV - 2) / 5
local number_key = #KEYS > 2 + jobs and KEYS[#KEYS]
local scheduled = ARGV[5] ~= ""
local last = number_key and (redis.call("GET", number_key) or "0")
if last and tonumber(last) >= tonumber(ARGV[1]) then
  -- Writes something, else WAIT on a new connection would wait for nothing.  The key expires when it would have anyway.
  local left = redis.call("PTTL", number_key)
  redis.call("PEXPIRE", number_key, left > 0 and left or ARGV[2] * 1000)
  return {}
end
local function must_be(wanted, key)
  local kind = redis.call("TYPE", key).ok
  return kind ~= wanted and kind ~= "none" and redis.error_reply("WRONGTYPE " .. key .. " is a " .. kind)
end
local refusal = must_be(scheduled and "zset" or "list", KEYS[1]) or not scheduled and must_be("set", KEYS[2])
if refusal then return refusal end

local holders, free, taken, push, extended = {}, {}, {}, {}, {}
for i = 1, jobs do
  local at, lock = 5 * i - 2, KEYS[2 + i]
  refusal = must_be("string", lock)
  if refusal then return refusal end
  local holder = taken[lock] or redis.call("GET", lock)
  local is_held = holder and holder ~= ARGV[at]
  local waits = is_held and ARGV[at + 4] == "after"
  holders[i] = not waits and holder or ""
  if is_held and ARGV[at + 4] == "extend" then extended[#extended + 1] = i end
  if not holder then
    taken[lock] = ARGV[at]
    free[#free + 1] = i
  end
  if not holder or waits then
    if scheduled then push[#push + 1] = ARGV[at + 2] end
    push[#push + 1] = ARGV[at + 3]
  end
end

-- Changes nothing, and fails before anything is pushed if Redis is full or we may not write these keys.
if number_key then redis.call("SET", number_key, last, "XX", "EX", ARGV[2]) end
if #extended > 0 then redis.call("PEXPIRE", KEYS[2 + extended[1]] .. "~", 1) end
if #free > 0 then redis.call("SET", KEYS[2 + free[1]], "", "XX") end    -- it is free
if #push > 0 then
  if scheduled then
    redis.call("ZADD", KEYS[1], unpack(push))
  else
    -- "queue:" is as long as "queues", whatever prefix they have.
    redis.call("SADD", KEYS[2], KEYS[1]:sub(#KEYS[2] + 1))
    redis.call("LPUSH", KEYS[1], unpack(push))
    enter_tenant(KEYS[1])
  end
end
for _, i in ipairs(free) do
  local at = 5 * i - 2
  if ARGV[at + 1] == "0" then redis.call("SET", KEYS[2 + i], ARGV[at])
  else redis.call("SET", KEYS[2 + i], ARGV[at], "PX", ARGV[at + 1]) end
end
for _, i in ipairs(extended) do
  local left = redis.call("PTTL", KEYS[2 + i])    -- negative: it lives as long as its job
  if left >= 0 and left < tonumber(ARGV[5 * i - 1]) then redis.call("PEXPIRE", KEYS[2 + i], ARGV[5 * i - 1]) end
end
if number_key and #push > 0 then redis.call("SET", number_key, ARGV[1], "EX", ARGV[2]) end
return holders
