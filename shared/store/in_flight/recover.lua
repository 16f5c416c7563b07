-- Empties the in-flight list of a dead incarnation, and removes the incarnation.
-- KEYS[1] in-flight hash    KEYS[2] "brood:processes"    KEYS[3] "retry"    KEYS[4] "dead"    KEYS[5] "schedule"
-- KEYS[6] list    KEYS[7] its queue    KEYS[8] the heartbeat of the owner, if its absence is why the owner counts as dead
-- ARGV[1] "<slot>.<incarnation>"    ARGV[2] identity    ARGV[3] the dead worker's number, "" if unknown
-- ARGV[4] queue that the sender believes the list to be of    ARGV[5] oldest score to keep in "dead"    ARGV[6] size of "dead"
-- ARGV[7] count of verdicts    ARGV[8...] mark of the entry as read ("=" and its bytes, or "#" and their SHA-1; "":
-- any text), kind, payload and score of each, for the oldest entries in order; then the same four for each payload
-- that is to be orphaned when it comes back for the third time
-- After these keys and arguments come the holdings that end with an entry or with the incarnation, see pieces/let_go.lua.
-- Returns {"DONE", acknowledged, charged, given back, orphaned}; {"GONE"} when another recovery was first; {"QUEUE", queue}
-- when the list is of another queue; {"HOLDS", note} when the incarnation holds other things than those sent;
-- {"ORPHANS", payloads...} when these come back for the third time and no outcome was sent for them; {"LIVES"} when the
-- heartbeat is there again.  Only DONE has written anything.
-- include: pieces/let_go.lua
-- include: pieces/key_types.lua
-- include: pieces/entry_mark.lua
-- include: pieces/enter_tenant.lua
local retry_key = KEYS[3]
-- include: pieces/orphan_returns.lua

if not is(KEYS[1], "hash") then return refuse(KEYS[1]) end
local held, holds = unpack(redis.call("HMGET", KEYS[1], ARGV[1], ARGV[1] .. " holds"))
if not held then return {"GONE"} end
if KEYS[8] and redis.call("EXISTS", KEYS[8]) == 1 then return {"LIVES"} end
local number, queue = held:match("^(%d+) (.*)$")
queue = queue or ""    -- the field was overwritten: the sweep finds its list later
if queue ~= ARGV[4] then return {"QUEUE", queue} end
if (holds or nil) ~= noted then return {"HOLDS", holds or ""} end
if not is(KEYS[2], "hash") then return refuse(KEYS[2]) end

local into = {retry = {KEYS[3], "zset"}, move_to_dead = {KEYS[4], "zset"}, schedule = {KEYS[5], "zset"}}
local verdicts, replacements = {}, {}
local last_verdict = 7 + 4 * tonumber(ARGV[7])
for i = 8, #ARGV, 4 do
  local verdict = {number = (i - 4) / 4, mark = ARGV[i], kind = ARGV[i + 1], payload = ARGV[i + 2], score = ARGV[i + 3]}
  if into[verdict.kind] and not is(into[verdict.kind][1], "zset") then return refuse(into[verdict.kind][1]) end
  if i <= last_verdict then verdicts[#verdicts + 1] = verdict else replacements[verdict.mark] = verdict end
end

local function replacement(payload) return replacements["=" .. payload] or replacements["#" .. redis.sha1hex(payload)] end

local left = 0
if queue ~= "" and redis.call("TYPE", KEYS[6]).ok == "list" then
  left = redis.call("LLEN", KEYS[6])
  if not is(KEYS[7], "list") then return refuse(KEYS[7]) end
end
-- If the numbers are equal, the scoreboard describes this very list.  If ours is one higher, the last settle was applied
-- after all, and nothing in the list was begun.  Otherwise it is unknown which jobs were begun: then each payload is
-- counted, and is orphaned when it comes back for the third time.
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
      if not returns[payload] then    -- only the oldest of equal payloads counts: a sorted set would merge them
        local counter = returns_of(payload)
        returns[payload] = 1 + (is(counter, "string") and tonumber(redis.call("GET", counter) or 0) or 0)
        fates[position] = returns[payload] >= 3
        if fates[position] and not replacement(payload) then missing[#missing + 1] = payload end
      end
    end
  end
  if #missing > 1 then return missing end
end

-- Applies the verdict about each of the oldest entries, and counts the entries of each verdict.
local acknowledged, charged, given_back, orphaned, trim = 0, 0, 0, 0, false
local adds, backs, heads, counted, applied = {}, {}, {}, {}, {}
local function apply(verdict, entry)
  local payload = verdict.payload ~= "" and verdict.payload or entry    -- "": unchanged
  applied[#applied + 1] = verdict.number
  if into[verdict.kind] then adds[#adds + 1] = {into[verdict.kind][1], verdict.score, payload}
  elseif verdict.kind == "requeue_head" then heads[#heads + 1] = payload
  elseif verdict.kind == "give_back" then heads[#heads + 1], counted[#counted + 1] = payload, payload
  elseif verdict.kind == "requeue_back" then backs[#backs + 1] = payload end
  trim = trim or verdict.kind == "move_to_dead"
end
local judged = 0
for _, verdict in ipairs(verdicts) do
  local oldest = judged < left and redis.call("LINDEX", KEYS[6], -1 - judged)
  if not oldest or verdict.mark ~= "" and not is_marked(oldest, verdict.mark) then break end
  apply(verdict, oldest)
  judged = judged + 1
  if verdict.mark == "" then acknowledged = acknowledged + 1 else charged = charged + 1 end
end
for position = 1, left do
  local payload = fates[position] and redis.call("LINDEX", KEYS[6], -position)
  if payload then apply(replacement(payload), payload) end
end

-- Writes that Redis may refuse come before anything is taken away.  First come those that change nothing, led by one that frees
-- memory, so that a full Redis accepts the rest; then those that add.
redis.call("HDEL", KEYS[1], "~")
redis.call("HDEL", KEYS[2], "~")
if left > 0 then redis.call("LTRIM", KEYS[6], 0, -1) end
for _, add in ipairs(adds) do redis.call("ZADD", add[1], "XX", 0, "\0") end
-- If the list is empty, a BLMOVE of the dead worker may still be on its way.  This string makes it fail with WRONGTYPE, and its
-- job stays in the queue.  A worker sends one BLMOVE at a time, so none can follow if the list holds something.
if queue ~= "" and left == 0 then redis.call("SET", KEYS[6], "dead", "EX", 3600) end
if #backs > 0 then redis.call("LPUSH", KEYS[7], unpack(backs)) end
local refused
local function push_head(payloads)
  if #payloads == 0 or refused then return end
  local reply = redis.pcall("RPUSH", KEYS[7], unpack(payloads))
  if type(reply) == "table" then refused = reply end
end
push_head(heads)

-- Newest first onto the head of the queue, so that the oldest is the next to run.
for newest = 0, left - judged - 1, 100 do
  local jobs, going = redis.call("LRANGE", KEYS[6], newest, math.min(newest + 99, left - judged - 1)), {}
  for i, payload in ipairs(jobs) do
    if fates[left - newest - i + 1] then orphaned = orphaned + 1 else going[#going + 1] = payload end
  end
  push_head(going)
  given_back = given_back + #going
end
if refused then
  if #backs > 0 then redis.pcall("LTRIM", KEYS[7], #backs, -1) end
  return refused
end

for _, add in ipairs(adds) do redis.call("ZADD", unpack(add)) end
if left > 0 then redis.call("LTRIM", KEYS[6], 1, 0) end
redis.call("HDEL", KEYS[1], ARGV[1])
enter_tenant(KEYS[7])
if let_go then
  let_go(0)
  for _, number in ipairs(applied) do let_go(number) end
end
if redis.call("EXISTS", KEYS[1]) == 0 then redis.call("HDEL", KEYS[2], ARGV[2]) end

for payload, count in pairs(returns) do
  if count >= 3 then redis.pcall("DEL", returns_of(payload))
  else redis.pcall("SET", returns_of(payload), count, "EX", counted_for) end
end
for _, payload in ipairs(counted) do count_return(payload) end
if trim then
  redis.pcall("ZREMRANGEBYSCORE", KEYS[4], "-inf", ARGV[5])
  redis.pcall("ZREMRANGEBYRANK", KEYS[4], 0, "-" .. ARGV[6])
end
return {"DONE", acknowledged, charged, given_back, orphaned}
