-- Settles what a living worker holds if its field is lost: flushed, evicted or deleted.  The rest of its list goes back to the
-- head of the queue.  If a recovery took the field, it took the jobs too, and nothing is found.
-- KEYS[1] in-flight hash    KEYS[2] list    KEYS[3] its queue    KEYS[4] "retry"    KEYS[5] "dead"    KEYS[6] "schedule"
-- KEYS[7] "brood:quarantined"
-- ARGV[1] "<slot>.<incarnation>"    ARGV[2] oldest score to keep in "dead"    ARGV[3] size of "dead"
-- ARGV[4...] mark of the entry as it was performed ("=" and its bytes, or "#" and their SHA-1), kind, payload and score
-- of each, for the oldest entries in order
-- After these keys and arguments come the holdings that end with a settled entry or with the incarnation, see
-- pieces/let_go.lua.
-- Returns the number of settled jobs, and the number of jobs that went back.  Sent again it finds none.
-- include: pieces/let_go.lua
-- include: pieces/key_types.lua
-- include: pieces/entry_mark.lua
-- include: pieces/enter_tenant.lua
local retry_key = KEYS[4]
-- include: pieces/orphan_returns.lua

if not is(KEYS[1], "hash") then return refuse(KEYS[1]) end
local held = redis.call("HGET", KEYS[1], ARGV[1])
if held and held ~= "0 " then return {0, 0} end    -- "0 ": a late registration, which names no list
local left = 0
if redis.call("TYPE", KEYS[2]).ok == "list" then
  if not is(KEYS[3], "list") then return refuse(KEYS[3]) end
  left = redis.call("LLEN", KEYS[2])
end

-- Without a number only the entries themselves show whether this is the batch that was performed.
local into = {retry = KEYS[4], move_to_dead = KEYS[5], schedule = KEYS[6], quarantine = KEYS[7]}
local adds, backs, heads, counted, settled, trim = {}, {}, {}, {}, 0, false
for i = 4, left > 0 and #ARGV or 0, 4 do
  local kind, payload = ARGV[i + 1], ARGV[i + 2]
  local entry = redis.call("LINDEX", KEYS[2], -1 - settled)
  if not entry or not is_marked(entry, ARGV[i]) then break end
  if payload == "" then payload = entry end    -- unchanged
  if into[kind] then
    if not is(into[kind], "zset") then return refuse(into[kind]) end
    adds[#adds + 1] = {into[kind], ARGV[i + 3], payload}
  elseif kind == "requeue_back" then backs[#backs + 1] = payload
  elseif kind == "requeue_head" then heads[#heads + 1] = payload
  elseif kind == "give_back" then heads[#heads + 1], counted[#counted + 1] = payload, payload end
  trim = trim or kind == "move_to_dead"
  settled = settled + 1
end

redis.call("HDEL", KEYS[1], ARGV[1])    -- first a write that frees memory: a full Redis lets the rest through
if let_go then let_go(0) end
if left == 0 then
  -- A BLMOVE of this worker may still be on its way: see recover.lua.
  if is(KEYS[2], "none") then redis.call("SET", KEYS[2], "dead", "EX", 3600) end
  return {0, 0}
end

-- Writes that Redis may refuse come before anything is taken away: first those that change nothing, then those that add.
redis.call("LTRIM", KEYS[2], 0, -1)
for _, add in ipairs(adds) do redis.call("ZADD", add[1], "XX", 0, "\0") end
if #backs > 0 then redis.call("LPUSH", KEYS[3], unpack(backs)) end
local function push_head(payloads)
  local refused = #payloads > 0 and redis.pcall("RPUSH", KEYS[3], unpack(payloads))
  if type(refused) ~= "table" then return end
  if #backs > 0 then redis.pcall("LTRIM", KEYS[3], #backs, -1) end
  return refused
end
local refused = push_head(heads)
for newest = 0, left - settled - 1, 100 do    -- newest first, so that the oldest is the next to run
  refused = refused or push_head(redis.call("LRANGE", KEYS[2], newest, math.min(newest + 99, left - settled - 1)))
end
if refused then return refused end
for _, add in ipairs(adds) do redis.call("ZADD", unpack(add)) end
redis.call("LTRIM", KEYS[2], 1, 0)
enter_tenant(KEYS[3])
for i = 1, let_go and settled or 0 do let_go(i) end
for _, payload in ipairs(counted) do count_return(payload) end
if trim then
  redis.pcall("ZREMRANGEBYSCORE", KEYS[5], "-inf", ARGV[2])
  redis.pcall("ZREMRANGEBYRANK", KEYS[5], 0, "-" .. ARGV[3])
end
return {settled, left - settled}
