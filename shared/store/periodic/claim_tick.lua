-- Claims a tick of a periodic job and pushes its job, or lets it pass.
-- KEYS[1] the job's state    KEYS[2] its history    KEYS[3] its queue, or "schedule"    KEYS[4] "queues"; only with a queue
-- KEYS[...] the jid that holds the turn of its jobs; only if they must not overlap
-- ARGV[1] its rule and zone; "": any    ARGV[2] the last tick as known    ARGV[3] this one; "": none, the job runs now
-- ARGV[4] number of missed ticks between the two    ARGV[5] the entry of the history    ARGV[6] number of entries to keep
-- ARGV[7] the payload; "": none, the tick passes    ARGV[8] its jid    ARGV[9] its score in the schedule; "": into its queue
-- ARGV[10] what to do while the job before holds the turn: "skip" or "queue"    ARGV[11] the entry for a skip
-- ARGV[12] seconds for which the history is kept
-- Returns {what happened, the last tick by now}.
-- include: pieces/enter_tenant.lua
local scheduled = ARGV[9] ~= ""
local queues, turn = not scheduled and KEYS[4] or nil, KEYS[scheduled and 4 or 5]
local lost, claimed, paused, another, early, skipped, waits = 0, 1, 2, 3, 4, 5, 6
local function must_be(wanted, key)
  local kind = key and redis.call("TYPE", key).ok
  return key and kind ~= wanted and kind ~= "none" and redis.error_reply("WRONGTYPE " .. key .. " is a " .. kind)
end
local refusal = must_be("hash", KEYS[1]) or must_be("list", KEYS[2]) or must_be(scheduled and "zset" or "list", KEYS[3]) or
                must_be("set", queues) or must_be("string", turn)
if refusal then return refusal end
local rule, last, is_paused, is_held = unpack(redis.call("HMGET", KEYS[1], "rule", "last", "paused", "held"))
last = tonumber(last or "") or 0
if ARGV[3] ~= "" then
  if not rule then return {lost, last} end    -- the state is gone
  if rule ~= ARGV[1] then return {another, last} end
  if is_paused or is_held then return {paused, last} end
  if last ~= tonumber(ARGV[2]) or tonumber(ARGV[3]) <= last then return {lost, last} end
  if tonumber(redis.call("TIME")[1]) < tonumber(ARGV[3]) then return {early, last} end
end
local held = turn and ARGV[7] ~= "" and redis.call("EXISTS", turn) == 1
if held and ARGV[10] == "queue" then return {waits, last} end

local pushes = ARGV[7] ~= "" and not held
local count = (held or pushes) and (held and "skipped" or "claimed")
-- These writes change nothing.  They fail before anything is pushed if Redis is full, a count is no number, or we may not
-- write these keys.
if ARGV[4] ~= "0" then redis.call("HINCRBY", KEYS[1], "missed", 0) end
if count then redis.call("HINCRBY", KEYS[1], count, 0) end
if ARGV[3] ~= "" then redis.call("HSET", KEYS[1], "rule", rule) end
if pushes then
  if turn then redis.call("SET", turn, "", "XX") end    -- it is free
  -- "queue:" is as long as "queues", whatever prefix they have.
  if queues then redis.call("SADD", queues, KEYS[3]:sub(#queues + 1)) else redis.call("ZADD", KEYS[3], "XX", 0, "\0") end
end
redis.call("LTRIM", KEYS[2], 0, -1)
redis.call("EXPIRE", KEYS[2], ARGV[12])

-- From here on only the first LPUSH may still be refused.
if pushes and queues then
  redis.call("LPUSH", KEYS[3], ARGV[7])
  enter_tenant(KEYS[3])
end
redis.call("LPUSH", KEYS[2], held and ARGV[11] or ARGV[5])
redis.call("LTRIM", KEYS[2], 0, tonumber(ARGV[6]) - 1)
redis.call("EXPIRE", KEYS[2], ARGV[12])
if pushes and scheduled then redis.call("ZADD", KEYS[3], ARGV[9], ARGV[7]) end
if pushes and turn then redis.call("SET", turn, ARGV[8]) end
if ARGV[3] ~= "" then redis.call("HSET", KEYS[1], "last", ARGV[3]) end
-- These come last: HINCRBY fails if a count has been set to its maximum.
if ARGV[4] ~= "0" then redis.call("HINCRBY", KEYS[1], "missed", ARGV[4]) end
if count then redis.call("HINCRBY", KEYS[1], count, 1) end
return {held and skipped or claimed, tonumber(ARGV[3]) or last}
