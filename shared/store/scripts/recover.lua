-- Empties the in-flight list of a dead incarnation, and removes the incarnation.
-- KEYS[1] in-flight hash    KEYS[2] "brood:processes"    KEYS[3] "retry"    KEYS[4] "dead"    KEYS[5] "schedule"
-- KEYS[6] list    KEYS[7] its queue
-- ARGV[1] "<slot>.<incarnation>"    ARGV[2] identity    ARGV[3] the dead worker's number, "" when nobody knows it
-- ARGV[4] queue that the sender believes the list to be of    ARGV[5] oldest score to keep in "dead"    ARGV[6] size of "dead"
-- ARGV[7] count of verdicts    ARGV[8...] entry as read behind a "=" ("": whatever it is), kind, payload and score of each,
-- for the oldest entries in order; then the same four for each payload that is to be orphaned when it comes back for the
-- third time
-- Returns {"DONE", acknowledged, charged, given back, orphaned}; {"GONE"} when somebody was first; {"QUEUE", queue} when the
-- list is of another queue; {"ORPHANS", payloads...} when these come back for the third time and no outcome was sent for
-- them.  Only DONE has written anything.
local function is(key, wanted)
  local kind = redis.call("TYPE", key).ok
  return kind == wanted or kind == "none"
end
local function refuse(key) return redis.error_reply("WRONGTYPE " .. key .. " is a " .. redis.call("TYPE", key).ok) end

if not is(KEYS[1], "hash") then return refuse(KEYS[1]) end
local held = redis.call("HGET", KEYS[1], ARGV[1])
if not held then return {"GONE"} end
local number, queue = held:match("^(%d+) (.*)$")
queue = queue or ""    -- scribbled over: the sweep finds its list later
if queue ~= ARGV[4] then return {"QUEUE", queue} end
if not is(KEYS[2], "hash") then return refuse(KEYS[2]) end

local into = {retry = {KEYS[3], "zset"}, move_to_dead = {KEYS[4], "zset"}, schedule = {KEYS[5], "zset"}}
local verdicts, replacements = {}, {}
local last_verdict = 7 + 4 * tonumber(ARGV[7])
for i = 8, #ARGV, 4 do
  local verdict = {bytes = ARGV[i], kind = ARGV[i + 1], payload = ARGV[i + 2], score = ARGV[i + 3]}
  if into[verdict.kind] and not is(into[verdict.kind][1], "zset") then return refuse(into[verdict.kind][1]) end
  if i <= last_verdict then verdicts[#verdicts + 1] = verdict else replacements[verdict.bytes:sub(2)] = verdict end
end

local left = 0
if queue ~= "" and redis.call("TYPE", KEYS[6]).ok == "list" then
  left = redis.call("LLEN", KEYS[6])
  if not is(KEYS[7], "list") then return refuse(KEYS[7]) end
end
-- Equal: the scoreboard speaks of this very list.  One higher: the last settle was applied after all, and nothing in the
-- list was begun.  Otherwise nobody knows what was begun: a job that keeps coming back so is taken out of circulation.
local expected = tonumber(ARGV[3])
number = tonumber(number)
local known = number and expected and (number == expected or number == expected + 1)
if number ~= expected then verdicts = {} end

local returns, fates = {}, {}
if not known then
  local missing, position = {"ORPHANS"}, 0
  while position < left do
    local newest_first = redis.call("LRANGE", KEYS[6], -position - 100, -position - 1)
    for i = #newest_first, 1, -1 do
      local payload = newest_first[i]
      position = position + 1
      if not returns[payload] then    -- of equal payloads the oldest counts, the others go back: a sorted set would merge them
        local counter = "brood:recovered:" .. redis.sha1hex(payload)
        returns[payload] = 1 + (is(counter, "string") and tonumber(redis.call("GET", counter) or 0) or 0)
        fates[position] = returns[payload] >= 3
        if fates[position] and not replacements[payload] then missing[#missing + 1] = payload end
      end
    end
  end
  if #missing > 1 then return missing end
end

redis.call("HDEL", KEYS[1], ARGV[1])    -- first a write that frees memory: a full Redis lets the rest through
if redis.call("EXISTS", KEYS[1]) == 0 then redis.call("HDEL", KEYS[2], ARGV[2]) end

-- With an empty list a BLMOVE of the dead may still be on its way; it is answered WRONGTYPE by this string, and its job
-- stays in the queue.  One at a time is sent, so a list that holds something has none behind it.
if queue ~= "" and left == 0 then redis.call("SET", KEYS[6], "dead", "EX", 3600) end

local acknowledged, charged, given_back, orphaned, trim = 0, 0, 0, 0, false
local function apply(verdict)
  if into[verdict.kind] then redis.call("ZADD", into[verdict.kind][1], verdict.score, verdict.payload)
  elseif verdict.kind == "requeue_head" then redis.call("RPUSH", KEYS[7], verdict.payload)
  elseif verdict.kind == "requeue_back" then redis.call("LPUSH", KEYS[7], verdict.payload) end
  trim = trim or verdict.kind == "move_to_dead"
end
for _, verdict in ipairs(verdicts) do
  local oldest = redis.call("LINDEX", KEYS[6], -1)
  if not oldest or verdict.bytes ~= "" and verdict.bytes ~= "=" .. oldest then break end
  redis.call("RPOP", KEYS[6])
  apply(verdict)
  left = left - 1
  if verdict.bytes == "" then acknowledged = acknowledged + 1 else charged = charged + 1 end
end

-- Newest first onto the head of the queue, so that the oldest is the next to run.
if known then
  while left > 0 do
    local jobs = redis.call("LPOP", KEYS[6], 100)
    redis.call("RPUSH", KEYS[7], unpack(jobs))
    left = left - #jobs
    given_back = given_back + #jobs
  end
else
  for position = left, 1, -1 do
    local payload = redis.call("LPOP", KEYS[6])
    if fates[position] then
      apply(replacements[payload])
      orphaned = orphaned + 1
    else
      redis.call("RPUSH", KEYS[7], payload)
      given_back = given_back + 1
    end
  end
  for payload, count in pairs(returns) do
    local counter = "brood:recovered:" .. redis.sha1hex(payload)
    if count >= 3 then redis.call("DEL", counter) else redis.call("SET", counter, count, "EX", 259200) end
  end
end
if trim then
  redis.call("ZREMRANGEBYSCORE", KEYS[4], "-inf", ARGV[5])
  redis.call("ZREMRANGEBYRANK", KEYS[4], 0, "-" .. ARGV[6])
end
return {"DONE", acknowledged, charged, given_back, orphaned}
