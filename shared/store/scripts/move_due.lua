-- Moves due jobs to their queues, each if it is still there and still due at the time we read.
-- KEYS[1] "schedule" or "retry"    KEYS[2] "queues"    KEYS[3...] the queue of each job
-- ARGV, for each job: member as read, its score as read, payload to push
-- Returns one number for each job: 1; 0 when somebody else moved, deleted or rescheduled it; -1 when the queue is no list.
local kind = redis.call("TYPE", KEYS[1]).ok
if kind ~= "zset" and kind ~= "none" then return redis.error_reply("WRONGTYPE " .. KEYS[1] .. " is a " .. kind) end
kind = redis.call("TYPE", KEYS[2]).ok
local names_can_be_added = kind == "set" or kind == "none"
local moved = {}
for i = 3, #KEYS do
  local member, score, payload = ARGV[3 * i - 8], ARGV[3 * i - 7], ARGV[3 * i - 6]
  kind = redis.call("TYPE", KEYS[i]).ok
  if kind ~= "list" and kind ~= "none" then
    moved[#moved + 1] = -1    -- one bad queue must not hold up the others
  elseif redis.call("ZSCORE", KEYS[1], member) ~= score then
    moved[#moved + 1] = 0
  else
    redis.call("ZREM", KEYS[1], member)    -- first a write that frees memory: a full Redis lets the rest through
    if names_can_be_added then redis.call("SADD", KEYS[2], KEYS[i]:sub(7)) end
    redis.call("LPUSH", KEYS[i], payload)
    moved[#moved + 1] = 1
  end
end
return moved
