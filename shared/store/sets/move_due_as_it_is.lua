-- Moves a due member that is too large to be sent, unchanged, if it is still there and its score is as read: to its queue, or
-- to the dead set.
-- KEYS[1] "schedule" or "retry"    KEYS[2] queue, and KEYS[3] "queues"; or KEYS[2] "dead"
-- ARGV[1] its score as read    ARGV[2] bytes of the member    ARGV[3] SHA-1 of its first and last 64 KB
-- For "dead": ARGV[4] its score there, now in seconds    ARGV[5] oldest score to keep    ARGV[6] size of the set
-- After these keys and arguments come the holdings of the job, see pieces/let_go.lua; none if it goes to a queue.
-- Returns as move_due does: 1 if it was moved; 1 if another process moved, deleted or rescheduled it; 1 if it stays because the
-- key that it should go to has another type or may not be written to.
-- include: pieces/let_go.lua
-- include: pieces/enter_tenant.lua
local to_queue = #ARGV == 3
local kind = redis.call("TYPE", KEYS[1]).ok
if kind ~= "zset" and kind ~= "none" then return redis.error_reply("WRONGTYPE " .. KEYS[1] .. " is a " .. kind) end
kind = redis.call("TYPE", KEYS[2]).ok
if kind ~= (to_queue and "list" or "zset") and kind ~= "none" then return {0, 0, 1} end

local found, position = nil, 0
repeat
  local members = redis.call("ZRANGEBYSCORE", KEYS[1], ARGV[1], ARGV[1], "LIMIT", position, 100)
  for _, member in ipairs(members) do
    if #member == tonumber(ARGV[2]) then
      local ends = #member <= 131072 and member or member:sub(1, 65536) .. member:sub(-65536)
      if redis.sha1hex(ends) == ARGV[3] then found = member end
    end
  end
  position = position + #members
until found or #members == 0
if not found then return {0, 1, 0} end

-- Changes nothing, but a full Redis accepts what follows, and a missing right to remove shows before anything is added.
redis.call("ZREM", KEYS[1], "\0")
local added = to_queue and redis.pcall("LPUSH", KEYS[2], found) or not to_queue and redis.pcall("ZADD", KEYS[2], ARGV[4], found)
if type(added) == "table" then return {0, 0, 1} end
redis.call("ZREM", KEYS[1], found)
if to_queue then
  enter_tenant(KEYS[2])
  redis.pcall("SADD", KEYS[3], KEYS[2]:sub(#KEYS[3] + 1))    -- "queue:" is as long as "queues"
else
  if let_go then let_go(1) end
  redis.pcall("ZREMRANGEBYSCORE", KEYS[2], "-inf", ARGV[5])
  redis.pcall("ZREMRANGEBYRANK", KEYS[2], 0, "-" .. ARGV[6])
end
return {1, 0, 0}
