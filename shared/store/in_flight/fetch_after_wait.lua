-- Fetches for a worker whose wait has ended.  It is sent right behind the worker's BLMOVE.  So Redis runs it the moment that
-- the wait ends, however it ends, and the worker need not come back to ask.
-- A job that the wait has brought enters its sequence here: Redis runs the scripts of several workers in the order in which
-- it has served their waits.  But a BLMOVE that finds a job does not wait, and its script runs before those of waits that
-- were served earlier.  So the script is also sent right in front of the BLMOVE, and notes that there is a job.  Then the
-- script behind the BLMOVE lets the jobs of those other waits enter first.
-- In front of the BLMOVE: KEYS[1] the queue waited on    KEYS[2] "brood:wait_found_job:<identity>:<slot>.<incarnation>"
-- ARGV[1] number of the last applied settle.  Returns 1 if it has noted a job.
-- Behind the BLMOVE: KEYS[1] in-flight hash    KEYS[2] list of the queue waited on    KEYS[3...] queue and list for each queue asked, in order
-- ARGV[1] "<slot>.<incarnation>"    ARGV[2] number of its last applied settle    ARGV[3] queue waited on
-- ARGV[4] jobs wanted    ARGV[5] bytes wanted
-- Returns {status, number, queue, {}, {fetched payloads, oldest first}}; status is OK, NOTHING (the wait itself brought a job,
-- or no queue has one: nothing was fetched), MOVED (the wait brought a job that waits for its sequence now, or is back in its
-- queue: nothing is held), MORE (the worker must fetch by settle_and_fetch) or FENCED (a recovery has taken this incarnation).
-- include: pieces/sequences.lua
if #ARGV == 1 then
  local at = KEYS[2]:find("brood:wait_found_job:", 1, true)
  local prefix, worker = KEYS[2]:sub(1, at - 1), KEYS[2]:sub(at + #"brood:wait_found_job:")
  note_wait(prefix, KEYS[1]:sub(#prefix + #"queue:" + 1), worker)
  local next = redis.call("LINDEX", KEYS[1], -1)
  if not next or not names_sequence(next) then return 0 end
  redis.call("SET", KEYS[2], ARGV[1], "EX", 1)
  return 1
end
local at = KEYS[1]:find("brood:inflight:", 1, true)
local prefix, worker = KEYS[1]:sub(1, at - 1), KEYS[1]:sub(at + #"brood:inflight:") .. ":" .. ARGV[1]
end_wait(prefix, ARGV[3], worker)
if redis.call("HGET", KEYS[1], ARGV[1]) ~= ARGV[2] .. " " .. ARGV[3] then return {"FENCED", "0", "", {}, {}} end
local nothing = {"NOTHING", ARGV[2], ARGV[3], {}, {}}
local arrived = redis.call("LINDEX", KEYS[2], -1)
if arrived then
  if names_sequence(arrived) then
    redis.call("HDEL", KEYS[1], "~")    -- changes nothing: a full Redis lets the rest through
    local order = sequences(prefix)
    local found_job = redis.call("GET", prefix .. "brood:wait_found_job:" .. worker) == ARGV[2]
    local enters = not found_job or not order.comes_too_early({arrived}, prefix .. "queue:" .. ARGV[3], KEYS[2], ARGV[3])
    if not enters or not order.enter_from(KEYS[2], ARGV[3], arrived) then nothing[1] = "MOVED" end
  end
  return nothing
end
if #KEYS == 2 then return nothing end
local queues = {}
for i = 3, #KEYS, 2 do queues[#queues + 1] = KEYS[i] end
if redis.call("EXISTS", unpack(queues)) == 0 then return nothing end
-- Finds the first queue that exists by bisection: a job waits for each call here.
local first, last = 1, #queues
while first < last do
  local middle = math.floor((first + last) / 2)
  if redis.call("EXISTS", unpack(queues, first, middle)) > 0 then last = middle else first = middle + 1 end
end
for i = first, #queues do
  local key, list = queues[i], KEYS[2 * i + 2]
  if redis.call("TYPE", key).ok == "list" and redis.call("EXISTS", list) == 0 then
    local jobs, bytes = {}, 0
    local job = redis.call("LINDEX", key, -1)
    if job and names_sequence(job) then
      nothing[1] = "MORE"
      return nothing
    end
    while job do
      jobs[#jobs + 1] = job
      bytes = bytes + #job
      local following = #jobs < math.min(tonumber(ARGV[4]), 1000) and redis.call("LINDEX", key, -1 - #jobs)
      job = following and bytes + #following <= tonumber(ARGV[5]) and not names_sequence(following) and following
    end
    -- Changes nothing, but a full Redis accepts what follows, and a missing right to remove shows before anything is added.
    redis.call("LTRIM", key, 0, -1)
    local number, queue = string.format("%.0f", tonumber(ARGV[2]) + 1), list:sub(#KEYS[1] + #ARGV[1] + 3)
    redis.call("HSET", KEYS[1], ARGV[1], number .. " " .. queue)
    local pushed = redis.pcall("LPUSH", list, unpack(jobs))
    if type(pushed) == "table" then
      redis.call("HSET", KEYS[1], ARGV[1], ARGV[2] .. " " .. ARGV[3])
      return pushed
    end
    redis.call("LTRIM", key, 0, -1 - #jobs)
    return {"OK", number, queue, {}, jobs}
  end
end
return nothing
