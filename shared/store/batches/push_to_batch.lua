-- Pushes jobs into a batch, unless this slice was pushed before.
-- KEYS[1] the batch's hash    KEYS[2] the queue, or "schedule"    KEYS[3] "queues"    KEYS[4...] the locks of unique jobs
-- ARGV[1] token of the push    ARGV[2] number of the slice, one more with each    ARGV[3] who pushes, as in open_batch.lua
-- Either ARGV[4] is "": all jobs go to the queue and need no lock.  Then come the presumed index of the first job, and whole
-- payloads.
-- Or from ARGV[4] on come for each job: jid, score ("" for the queue), milliseconds that its lock lives at most ("" for a
-- job without one, "0": as long as the job), its fate if another job holds its lock ("": it is not pushed;
-- "after": it is pushed without the lock; "extend": it is not pushed, and that lock lives longer), and its payload up to the
-- place of its index.
-- Returns {"OK", the index of the next job, and unless ARGV[4] is "", for each job the jid that holds its lock, "" if it was
-- pushed}; {"AGAIN"}: this slice was pushed before.
-- With these replies no job was pushed: {"MOVED", the index of the next job}: another push was first; {"NONE"}: there is no
-- such batch; {"CANCELLED"}; {"ENDED"}.
-- include: batches/pieces/batches.lua
-- include: pieces/enter_tenant.lua
local B = batches()
if not B.exists(KEYS[1]) then return {"NONE"} end
local push = "push:" .. ARGV[1]
local known = redis.call("HGET", KEYS[1], push)
if known and tonumber(known:match("^%d+")) >= tonumber(ARGV[2]) then return {"AGAIN"} end
local batch = B.read(KEYS[1])
if batch.cancelled > 0 then return {"CANCELLED"} end
if batch.open <= 0 and redis.call("HEXISTS", KEYS[1], "closed:finished") == 1 then return {"ENDED"} end

local function must_be(wanted, key)
  local kind = redis.call("TYPE", key).ok
  return kind ~= wanted and kind ~= "none" and redis.error_reply("WRONGTYPE " .. key .. " is a " .. kind)
end
local is_plain = ARGV[4] == ""
if is_plain and tonumber(ARGV[5]) ~= batch.total then return {"MOVED", string.format("%d", batch.total)} end
local scheduled = not is_plain and ARGV[5] ~= ""
local refusal = must_be(scheduled and "zset" or "list", KEYS[2]) or must_be("set", KEYS[3])
if refusal then return refusal end
local answer, jobs, locks, extended, taken, next_lock, index = {"OK", ""}, {}, {}, {}, {}, 4, batch.total
for i = 4, is_plain and 0 or #ARGV, 5 do
  local jid, lives, conflict, holder = ARGV[i], ARGV[i + 2], ARGV[i + 3], nil
  if lives ~= "" then
    local lock = KEYS[next_lock]
    next_lock = next_lock + 1
    refusal = must_be("string", lock)
    if refusal then return refusal end
    holder = taken[lock] or redis.call("GET", lock)
    if not holder then
      taken[lock] = jid
      locks[#locks + 1] = {lock, jid, lives}
    elseif holder ~= jid and conflict == "extend" then
      extended[#extended + 1] = {lock, lives}
    elseif holder ~= jid and conflict == "after" then
      holder = nil
    end
  end
  answer[#answer + 1] = holder or ""
  if not holder then
    if scheduled then jobs[#jobs + 1] = ARGV[i + 1] end
    jobs[#jobs + 1] = ARGV[i + 4] .. string.format("%d", index) .. "}"
    index = index + 1
  end
end

-- A full Redis refuses the first write, or none.  A push whose batch is deleted meanwhile makes no new one.
redis.call("HSET", KEYS[1], push, (ARGV[2] - 1) .. " " .. ARGV[3])
if #locks > 0 then redis.call("SET", locks[1][1], "", "XX") end    -- the lock is free: this and the next change nothing
if #extended > 0 then redis.call("PEXPIRE", extended[1][1] .. "~", 1) end
if is_plain then index = index + #ARGV - 5 end
answer[2] = string.format("%d", index)
if index > batch.total then
  local pushed
  if is_plain then pushed = redis.pcall("LPUSH", KEYS[2], unpack(ARGV, 6))
  elseif scheduled then pushed = redis.pcall("ZADD", KEYS[2], unpack(jobs))
  else pushed = redis.pcall("LPUSH", KEYS[2], unpack(jobs)) end
  if type(pushed) == "table" and pushed.err then return pushed end
  -- "queue:" is as long as "queues", whatever stands before them.
  if not scheduled then
    redis.pcall("SADD", KEYS[3], KEYS[2]:sub(#KEYS[3] + 1))
    enter_tenant(KEYS[2])
  end
  redis.call("HSET", KEYS[1], "total", index, push, ARGV[2] .. " " .. ARGV[3])
  if redis.call("PTTL", KEYS[1]) < (B.pending_for - 60) * 1000 then B.expire(batch, B.pending_for) end
end
for _, one in ipairs(locks) do
  if one[3] == "0" then redis.call("SET", one[1], one[2]) else redis.call("SET", one[1], one[2], "PX", one[3]) end
end
for _, one in ipairs(extended) do
  local left = redis.call("PTTL", one[1])    -- negative: it lives as long as its job
  if left >= 0 and left < tonumber(one[2]) then redis.call("PEXPIRE", one[1], one[2]) end
end
return answer
