-- Puts a unique job in the place of the one that holds its lock, if that one still waits where it was found.
-- KEYS[1] the lock    KEYS[2] where the holder waits: a queue, or a set
-- KEYS[3] where the new job goes: its queue, the queue beside it in which the holder waits, or "schedule"    KEYS[4] "queues"
-- KEYS[5] the number of the client's last batch, if the batch is numbered
-- ARGV[1] the holder's jid, its text and its score ("" in a queue)
-- ARGV[4] the new job's jid, milliseconds that its lock lives at most ("0": as long as the job), score ("" for the queue) and
-- payload
-- ARGV[8] the batch's number, and the seconds for which it is kept; only with KEYS[5]
-- After these keys and arguments comes the batch that counts the holder, see pieces/let_go.lua.  The new job gets the lock.
-- Returns 1, also if this batch was pushed before; 0 if the lock has another holder by now, or the holder no longer waits
-- there: then nothing is changed.
-- include: pieces/let_go.lua
-- include: pieces/enter_tenant.lua
local lock, from, to, queues, number_key = unpack(KEYS)
local holder, old, old_score, jid, longest, score, new, number, kept_for = unpack(ARGV)
local last = number_key and (redis.call("GET", number_key) or "0")
if last and tonumber(last) >= tonumber(number) then
  -- Writes something, else WAIT on a new connection would wait for nothing.  The key expires when it would have anyway.
  local left = redis.call("PTTL", number_key)
  redis.call("PEXPIRE", number_key, left > 0 and left or kept_for * 1000)
  return 1
end
local function must_be(wanted, key)
  local kind = redis.call("TYPE", key).ok
  return kind ~= wanted and kind ~= "none" and redis.error_reply("WRONGTYPE " .. key .. " is a " .. kind)
end
local refusal = must_be("string", lock) or must_be(old_score == "" and "list" or "zset", from) or
  must_be(score == "" and "list" or "zset", to) or score == "" and must_be("set", queues)
if refusal then return refusal end
if redis.call("GET", lock) ~= holder then return 0 end
local place
if old_score == "" then
  place = redis.call("LPOS", from, old)
  if not place then return 0 end
elseif redis.call("ZSCORE", from, old) ~= old_score then
  return 0
end

-- Keeps the number, and fails before anything is changed.
if number_key then redis.call("SET", number_key, last, "XX", "EX", kept_for) end
redis.call("SET", lock, "", "NX")    -- the lock exists, so this changes nothing; it fails if we may not write the lock
if from == to and old_score == "" then
  redis.call("LSET", from, place, new)
else
  -- Tries the right to remove first: this removes nothing.
  if old_score == "" then redis.call("LREM", from, 1, "\0") else redis.call("ZREM", from, "\0") end
  if score == "" then
    redis.call("SADD", queues, to:sub(#queues + 1))    -- "queue:" is as long as "queues"
    redis.call("LPUSH", to, new)
    enter_tenant(to)
  else
    redis.call("ZADD", to, score, new)
  end
  if old_score == "" then redis.call("LREM", from, 1, old) else redis.call("ZREM", from, old) end
end
if longest == "0" then redis.call("SET", lock, jid) else redis.call("SET", lock, jid, "PX", longest) end
if number_key then redis.call("SET", number_key, number, "EX", kept_for) end
if let_go then let_go(1) end
return 1
