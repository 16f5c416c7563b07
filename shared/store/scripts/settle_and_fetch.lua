-- Settles the oldest jobs of an incarnation's list and, if nothing is left in it, fetches the next ones.
-- KEYS[1] in-flight hash    KEYS[2] the held list    KEYS[3] the queue it came from
-- KEYS[4] "retry"    KEYS[5] "dead"    KEYS[6] "schedule"    KEYS[7...] queue and list for each queue asked, in order
-- ARGV[1] "<slot>.<incarnation>"    ARGV[2] number that the sender expects    ARGV[3] jobs wanted    ARGV[4] bytes wanted
-- ARGV[5] queue that the worker will wait on, "" for none    ARGV[6] oldest score to keep in "dead"    ARGV[7] size of "dead"
-- ARGV[8] count of outcomes    ARGV[9...] kind, payload and score of each
-- Returns {status, number, queue, {names of queues that are no lists}, {held payloads, oldest first}}; status is OK,
-- AGAIN (this settle had been applied before, nothing was written now) or FENCED (it is no longer the sender's to settle).
local function is(key, wanted)
  local kind = redis.call("TYPE", key).ok
  return kind == wanted or kind == "none"
end
local function refuse(key) return redis.error_reply("WRONGTYPE " .. key .. " is a " .. redis.call("TYPE", key).ok) end
local fenced = {"FENCED", "0", "", {}, {}}

if not is(KEYS[1], "hash") then return refuse(KEYS[1]) end
local held = redis.call("HGET", KEYS[1], ARGV[1])
if not held then return fenced end
local number, queue = held:match("^(%d+) (.*)$")
local expected = tonumber(ARGV[2])
number = tonumber(number)
if not number then return fenced end
local applied_before = number == expected + 1
if number ~= expected and not applied_before then return fenced end

-- The field alone says which list may hold something: a sender that never saw the last reply may believe otherwise.
local function list_of(name) return KEYS[1] .. ":" .. ARGV[1] .. ":" .. name end
local skipped = {}
local function answer(status)
  local payloads = {}
  if queue ~= "" then
    local newest_first = redis.call("LRANGE", list_of(queue), 0, -1)
    for i = #newest_first, 1, -1 do payloads[#payloads + 1] = newest_first[i] end
  end
  return {status, string.format("%.0f", number), queue, skipped, payloads}
end
if queue ~= "" and not is(list_of(queue), "list") then return refuse(list_of(queue)) end
if applied_before then return answer("AGAIN") end

local outcomes = tonumber(ARGV[8])
local left = 0
if queue ~= "" then left = redis.call("LLEN", list_of(queue)) end
if outcomes > 0 and (outcomes > left or outcomes > 1000 or KEYS[2] ~= list_of(queue)) then return fenced end
local into = {retry = {KEYS[4], "zset"}, move_to_dead = {KEYS[5], "zset"}, schedule = {KEYS[6], "zset"},
              requeue_back = {KEYS[3], "list"}, requeue_head = {KEYS[3], "list"}}
for i = 0, outcomes - 1 do
  local target = into[ARGV[9 + 3 * i]]
  if target and not is(target[1], target[2]) then return refuse(target[1]) end
end
left = left - outcomes

-- An interrupted job of this very settle may be what the fetch finds, so the queues are asked after the settling; here
-- only whether they can be asked at all.
local wanted = 0
if left == 0 then wanted = math.min(tonumber(ARGV[3]), 1000) end
local asked = {}
if wanted > 0 then
  for i = 7, #KEYS, 2 do
    if is(KEYS[i], "list") and is(KEYS[i + 1], "list") then asked[#asked + 1] = i
    else skipped[#skipped + 1] = KEYS[i]:sub(7) end
  end
end

if outcomes > 0 then
  redis.call("RPOP", KEYS[2], outcomes)    -- first a write that frees memory: a full Redis lets the rest through
else
  local found = false
  for _, i in ipairs(asked) do found = found or redis.call("EXISTS", KEYS[i]) == 1 end
  -- An idle poll writes nothing and keeps its number, but only while no queue is waited on: a BLMOVE fills the list
  -- without touching the number, and a late copy of this very poll must not be taken for the settle of that job.
  if not found and left == 0 and queue == "" and ARGV[5] == "" then return answer("OK") end
  redis.call("HDEL", KEYS[1], "~")    -- no field has this name; it opens a full Redis as a pop does
end

local trim = false
for i = 0, outcomes - 1 do
  local kind, payload, score = ARGV[9 + 3 * i], ARGV[10 + 3 * i], ARGV[11 + 3 * i]
  if kind == "retry" or kind == "move_to_dead" or kind == "schedule" then redis.call("ZADD", into[kind][1], score, payload)
  elseif kind == "requeue_back" then redis.call("LPUSH", KEYS[3], payload)
  elseif kind == "requeue_head" then redis.call("RPUSH", KEYS[3], payload) end
  trim = trim or kind == "move_to_dead"
end
if trim then
  redis.call("ZREMRANGEBYSCORE", KEYS[5], "-inf", ARGV[6])
  redis.call("ZREMRANGEBYRANK", KEYS[5], 0, "-" .. ARGV[7])
end

if left == 0 then
  queue = ARGV[5]
  for _, i in ipairs(asked) do
    local job = redis.call("RPOP", KEYS[i])
    if job then
      local jobs, bytes = {}, 0
      while job do
        jobs[#jobs + 1] = job
        bytes = bytes + #job
        local following = #jobs < wanted and redis.call("LINDEX", KEYS[i], -1)
        job = following and bytes + #following <= tonumber(ARGV[4]) and redis.call("RPOP", KEYS[i])
      end
      redis.call("LPUSH", KEYS[i + 1], unpack(jobs))
      queue = KEYS[i]:sub(7)
      break
    end
  end
end
number = number + 1
redis.call("HSET", KEYS[1], ARGV[1], string.format("%.0f", number) .. " " .. queue)
return answer("OK")
