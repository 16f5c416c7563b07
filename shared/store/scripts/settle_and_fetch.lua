-- Settles the oldest jobs of an incarnation's list and, if nothing is left in it, fetches the next ones.
-- KEYS[1] in-flight hash    KEYS[2] the held list    KEYS[3] the queue it came from
-- KEYS[4...] queue and list for each queue asked, in order; and behind them, if an outcome is no success, "retry", "dead"
-- and "schedule"
-- ARGV[1] "<slot>.<incarnation>"    ARGV[2] number that the sender expects    ARGV[3] jobs wanted    ARGV[4] bytes wanted
-- ARGV[5] queue that the worker will wait on, "" for none    ARGV[6] how many of the oldest jobs succeeded
-- If the outcomes do not end there: ARGV[7] oldest score to keep in "dead"    ARGV[8] size of "dead"
-- ARGV[9...] kind, payload and score of each
-- Returns {status, number, queue, {names of queues that are no lists}, {held payloads, oldest first}}; status is OK,
-- AGAIN (this settle had been applied before, nothing was written now) or FENCED (it is no longer the sender's to settle).
local fenced = {"FENCED", "0", "", {}, {}}
local function refuse(key) return redis.error_reply("WRONGTYPE " .. key .. " is a " .. redis.call("TYPE", key).ok) end

-- A command on a key of the wrong type fails and changes nothing: that is how a type is known without asking for it.
local held = redis.pcall("HGET", KEYS[1], ARGV[1])
if type(held) == "table" then return refuse(KEYS[1]) end
if not held then return fenced end
local number, queue = held:match("^(%d+) (.*)$")
number = tonumber(number)
local expected = tonumber(ARGV[2])
if not number or (number ~= expected and number ~= expected + 1) then return fenced end

-- The field alone says which list may hold something: a sender that never saw the last reply may believe otherwise.
local held_list, left = KEYS[1] .. ":" .. ARGV[1] .. ":" .. queue, 0
if queue ~= "" then left = redis.pcall("LLEN", held_list) end
if type(left) == "table" then return refuse(held_list) end

local skipped = {}
local function answer(status, payloads)
  if not payloads then
    payloads = {}
    local newest_first = queue ~= "" and redis.call("LRANGE", held_list, 0, -1) or payloads
    for i = #newest_first, 1, -1 do payloads[#payloads + 1] = newest_first[i] end
  end
  return {status, string.format("%d", number), queue, skipped, payloads}
end
if number == expected + 1 then return answer("AGAIN") end

local others = math.max((#ARGV - 8) / 3, 0)
local outcomes = tonumber(ARGV[6]) + others
if outcomes > 0 and (outcomes > left or outcomes > 1000 or KEYS[2] ~= held_list) then return fenced end
left = left - outcomes
local wanted = left == 0 and math.min(tonumber(ARGV[3]), 1000) or 0

local last_asked, dead = #KEYS - 1
local into
if others > 0 then
  last_asked, dead = #KEYS - 4, KEYS[#KEYS - 1]
  into = {retry = {KEYS[#KEYS - 2], "zset"}, move_to_dead = {dead, "zset"}, schedule = {KEYS[#KEYS], "zset"},
          requeue_back = {KEYS[3], "list"}, requeue_head = {KEYS[3], "list"}}
  for i = 9, #ARGV, 3 do
    local target = into[ARGV[i]]
    local kind = target and redis.call("TYPE", target[1]).ok
    if target and kind ~= target[2] and kind ~= "none" then return refuse(target[1]) end
  end
end

if outcomes > 0 then
  -- First a write that frees memory: a full Redis lets the rest through.
  redis.call("LTRIM", KEYS[2], 0, -1 - outcomes)
else
  -- An idle poll writes nothing and keeps its number, but only while no queue is waited on: a BLMOVE fills the list
  -- without touching the number, and a late copy of this very poll must not be taken for the settle of that job.
  if left == 0 and queue == "" and ARGV[5] == "" then
    local found = false
    for i = 4, wanted > 0 and last_asked or 0, 2 do
      local kind = redis.call("TYPE", KEYS[i]).ok
      found = found or kind == "list"
      if kind ~= "list" and kind ~= "none" then skipped[#skipped + 1] = KEYS[i]:sub(7) end
    end
    if not found then return answer("OK") end
    skipped = {}
  end
  redis.call("HDEL", KEYS[1], "~")    -- no field has this name; it opens a full Redis as a pop does
end

local trim = false
for i = 9, #ARGV, 3 do
  local kind, payload, score = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if kind == "retry" or kind == "move_to_dead" or kind == "schedule" then redis.call("ZADD", into[kind][1], score, payload)
  elseif kind == "requeue_back" then redis.call("LPUSH", KEYS[3], payload)
  elseif kind == "requeue_head" then redis.call("RPUSH", KEYS[3], payload) end
  trim = trim or kind == "move_to_dead"
end
if trim then
  redis.call("ZREMRANGEBYSCORE", dead, "-inf", ARGV[7])
  redis.call("ZREMRANGEBYRANK", dead, 0, "-" .. ARGV[8])
end

-- Moves the oldest jobs of a queue, as many as are wanted and not too many bytes, but one at least.  The size of the
-- first tells how many to take at once; should others be larger, the rest goes back to where it was.
local function take(from, to)
  if wanted == 1 then
    local job = redis.pcall("LMOVE", from, to, "RIGHT", "LEFT")
    return type(job) == "string" and {job} or job
  end
  local oldest = redis.pcall("LINDEX", from, -1)
  if type(oldest) ~= "string" then return oldest end
  local length = redis.pcall("LLEN", to)
  if type(length) == "table" then return length end
  local most_bytes = tonumber(ARGV[4])
  local jobs = redis.call("RPOP", from, math.min(wanted, math.floor(most_bytes / math.max(#oldest, 1)) + 1))
  local fit, bytes = 1, #oldest
  while jobs[fit + 1] and bytes + #jobs[fit + 1] <= most_bytes do
    fit = fit + 1
    bytes = bytes + #jobs[fit]
  end
  for _ = fit + 1, #jobs do redis.call("RPUSH", from, table.remove(jobs)) end
  redis.call("LPUSH", to, unpack(jobs))
  return jobs
end

local fetched
if left == 0 then
  local emptied = held_list
  queue, held_list = ARGV[5], KEYS[1] .. ":" .. ARGV[1] .. ":" .. ARGV[5]
  for i = 4, wanted > 0 and last_asked or 0, 2 do
    local jobs = take(KEYS[i], KEYS[i + 1])
    if jobs and not jobs.err then
      queue, held_list = KEYS[i]:sub(7), KEYS[i + 1]
      if held_list == emptied or redis.call("LLEN", held_list) == #jobs then fetched = jobs end
      break
    elseif jobs then
      skipped[#skipped + 1] = KEYS[i]:sub(7)
    end
  end
  if queue == "" then fetched = {} end
end
number = number + 1
redis.call("HSET", KEYS[1], ARGV[1], string.format("%d", number) .. " " .. queue)
return answer("OK", fetched)
