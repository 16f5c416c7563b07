-- Settles the oldest jobs of an incarnation's list and, if nothing is left in it, fetches the next ones.
-- KEYS[1] in-flight hash    KEYS[2] the held list    KEYS[3] the queue it came from
-- KEYS[4...] queue and list for each queue asked, in order; then, if an outcome is no success, "retry", "dead",
-- "schedule" and "brood:quarantined"
-- ARGV[1] "<slot>.<incarnation>"    ARGV[2] number that the sender expects    ARGV[3] jobs wanted    ARGV[4] bytes wanted
-- ARGV[5] queue that the worker will wait on, "" for none    ARGV[6] number of oldest jobs that succeeded
-- If the outcomes do not end there: ARGV[7] oldest score to keep in "dead"    ARGV[8] size of "dead"
-- ARGV[9...] kind, payload and score of each; of one that is set aside, the name of the queue that it goes into
-- After these keys and arguments come the holdings that end with this call (pieces/let_go.lua), then the caps of the queues
-- asked (take_caps.lua), then the data about tenants (read_tenants.lua; a queue asked may be "images~*", with their turns as
-- its key).
-- Returns {status, number, queue, {names of queues that are no lists}, {held payloads, oldest first}}; status is OK,
-- AGAIN (this settle had been applied before, nothing was written now), MORE or SOON (as OK, but a queue has jobs that were
-- not looked at, or that another worker's job comes before: ask again at once), or FENCED (it is no longer the sender's to
-- settle).
-- include: pieces/caps.lua
-- include: pieces/read_tenants.lua
-- include: pieces/take_caps.lua
-- include: pieces/take_tenants.lua
-- include: pieces/let_go.lua
local fenced = {"FENCED", "0", "", {}, {}}
-- A queue is named at the end of the list that belongs to it.
local function name_of(i) return KEYS[i + 1]:sub(#KEYS[1] + #ARGV[1] + 3) end
local function refuse(key) return redis.error_reply("WRONGTYPE " .. key .. " is a " .. redis.call("TYPE", key).ok) end

-- A command on a key of the wrong type fails and changes nothing, so types need not be asked for.
local held = redis.pcall("HGET", KEYS[1], ARGV[1])
if type(held) == "table" then return refuse(KEYS[1]) end
if not held then return fenced end
local number, queue = held:match("^(%d+) (.*)$")
number = tonumber(number)
local expected = tonumber(ARGV[2])
if not number or (number ~= expected and number ~= expected + 1) then return fenced end

-- Only the field names the list that may hold jobs: a sender that has not got the last reply may have another list in mind.
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
if outcomes > 0 and (outcomes > left or outcomes > 500 or KEYS[2] ~= held_list) then return fenced end
left = left - outcomes
local wanted = left == 0 and math.min(tonumber(ARGV[3]), 1000) or 0

local last_asked, dead = #KEYS - 1
local into, beside
if others > 0 then
  last_asked, dead = #KEYS - 5, KEYS[#KEYS - 2]
  into = {retry = {KEYS[#KEYS - 3], "zset"}, move_to_dead = {dead, "zset"}, schedule = {KEYS[#KEYS - 1], "zset"},
          quarantine = {KEYS[#KEYS], "zset"}, requeue_back = {KEYS[3], "list"}, requeue_head = {KEYS[3], "list"}}
  local seen = {}
  beside = KEYS[3]:sub(1, -#queue - 1)    -- with the name of any queue behind it the key of that queue
  for i = 9, #ARGV, 3 do
    local target = into[ARGV[i]]
    if ARGV[i] == "beside" then target = {beside .. ARGV[i + 2], "list"} end
    if target and not seen[target[1]] then
      local kind = redis.call("TYPE", target[1]).ok
      if kind ~= target[2] and kind ~= "none" then return refuse(target[1]) end
      seen[target[1]] = true
    end
  end
end

-- An idle poll writes nothing and keeps its number, but only while no queue is waited on: a BLMOVE fills the list
-- without touching the number, and a late copy of this very poll must not be taken for the settle of that job.
if outcomes == 0 and left == 0 and queue == "" and ARGV[5] == "" then
  local found = false
  for i = 4, wanted > 0 and last_asked or 0, 2 do
    local kind = redis.call("TYPE", KEYS[i]).ok
    local cap = caps[i / 2 - 1]
    found = found or kind == "list" and (not cap or places_of(cap)) or
      kind == "zset" and tenants[i / 2 - 1] and (not cap or places_of(cap))
    if kind ~= "list" and kind ~= "none" and not found then skipped[#skipped + 1] = name_of(i) end
  end
  if not found then return answer("OK") end
  skipped = {}
end

-- Redis rolls nothing back, and the rights of a user can change at any moment.  So each write that Redis may refuse comes
-- before anything is taken away: first writes that change nothing or are undone here, then those that add, then those that
-- remove.
local refusal
local function try(...)
  local reply = not refusal and redis.pcall(...)
  if type(reply) == "table" and reply.err then refusal = reply end
end
local function note(value) try("HSET", KEYS[1], ARGV[1], value) end

-- Guesses the queue that jobs will be fetched from.  The guess is mostly right, and then the field is written only once.
local noted = left > 0 and queue or wanted > 0 and last_asked >= 4 and name_of(4) or ARGV[5]
local following = string.format("%d ", number + 1)
note(following .. noted)
if refusal then
  refusal = nil
  try("HDEL", KEYS[1], "~")    -- no field has this name: a full Redis lets through what follows a write that frees memory
  note(following .. noted)
  if refusal then return refusal end
end

local trim, adds, sets, backs, heads, asides = false, {}, {}, {}, {}, {}    -- one ZADD for each set
for i = 9, #ARGV, 3 do
  local kind, payload = ARGV[i], ARGV[i + 1]
  if payload == "" and kind ~= "acknowledge" then    -- the entry as it is
    payload = redis.call("LINDEX", KEYS[2], -1 - ARGV[6] - (i - 9) / 3)
  end
  if kind == "requeue_back" then backs[#backs + 1] = payload
  elseif kind == "requeue_head" then heads[#heads + 1] = payload
  elseif kind == "beside" then
    local name = ARGV[i + 2]
    local aside = asides[#asides]
    if not aside or aside.name ~= name then
      aside = {name = name, payloads = {}}
      asides[#asides + 1] = aside
    end
    table.insert(aside.payloads, payload)
  elseif into[kind] then
    local set = into[kind][1]
    if not sets[set] then
      sets[set] = {set}
      adds[#adds + 1] = sets[set]
    end
    local add = sets[set]
    add[#add + 1] = ARGV[i + 2]
    add[#add + 1] = payload
  end
  trim = trim or kind == "move_to_dead"
end
if others > 0 then
  try("LTRIM", KEYS[2], 0, -1)
  for _, add in ipairs(adds) do try("ZADD", add[1], "XX", 0, "\0") end
  for _, aside in ipairs(asides) do
    -- When the cap is no longer configured, supervisors find these jobs by the first set, and pages show them by the second.
    try("SADD", beside:sub(1, -7) .. "brood:set_aside", aside.name)
    redis.pcall("SADD", beside:sub(1, -7) .. "queues", aside.name)
    try("LPUSH", beside .. aside.name, unpack(aside.payloads))
    aside.is_pushed = not refusal
  end
  if #backs > 0 then try("LPUSH", KEYS[3], unpack(backs)) end
  local behind = not refusal and #backs
  if #heads > 0 then try("RPUSH", KEYS[3], unpack(heads)) end
  if refusal and behind and behind > 0 then redis.pcall("LTRIM", KEYS[3], behind, -1) end
  for i = #asides, refusal and 1 or #asides + 1, -1 do
    if asides[i].is_pushed then redis.pcall("LTRIM", beside .. asides[i].name, #asides[i].payloads, -1) end
  end
end
if outcomes > 0 then try("LTRIM", KEYS[2], 0, -1 - outcomes) end
if refusal then
  redis.call("HSET", KEYS[1], ARGV[1], held)
  return refusal
end
for _, add in ipairs(adds) do redis.call("ZADD", unpack(add)) end
if trim then
  redis.pcall("ZREMRANGEBYSCORE", dead, "-inf", ARGV[7])
  redis.pcall("ZREMRANGEBYRANK", dead, 0, "-" .. ARGV[8])
end
if let_go then let_go(0) end
if outcomes > 0 and queue:find("~", 1, true) then note_settled_tenant(KEYS[3], others > 0) end
for _, aside in ipairs(asides) do enter_tenant(beside .. aside.name) end

-- Moves the oldest jobs of a queue, up to the wanted number and bytes, but at least one.  The size of the first job decides
-- how many jobs are read.  Returns them, oldest first, and the length of the list then, if that is known.
local function take(from, to)
  if wanted == 1 then
    local job = redis.pcall("LMOVE", from, to, "RIGHT", "LEFT")
    return type(job) == "string" and {job} or job
  end
  local oldest = redis.pcall("LINDEX", from, -1)
  if type(oldest) ~= "string" then return oldest end
  local most_bytes = tonumber(ARGV[4])
  local most = math.min(wanted, math.floor(most_bytes / math.max(#oldest, 1)) + 1)
  local newest_first = redis.call("LRANGE", from, -most, -1)
  local jobs, bytes = {oldest}, #oldest
  for i = #newest_first - 1, 1, -1 do
    bytes = bytes + #newest_first[i]
    if bytes > most_bytes then break end
    jobs[#jobs + 1] = newest_first[i]
  end
  local removable = redis.pcall("LTRIM", from, 0, -1)
  if removable.err then return removable end
  local length = redis.pcall("LPUSH", to, unpack(jobs))
  if type(length) == "table" then return length end
  redis.call("LTRIM", from, 0, -1 - #jobs)
  return jobs, length
end

local status, find = "OK", string.find
local fetched
if left == 0 then
  local emptied = held_list
  queue, held_list = ARGV[5], KEYS[1] .. ":" .. ARGV[1] .. ":" .. ARGV[5]
  for i = 4, wanted > 0 and last_asked or 0, 2 do
    local cap, jobs, length = caps[i / 2 - 1], nil, nil
    local group, tenant, charge, list = tenants[i / 2 - 1], nil, nil, KEYS[i + 1]
    if group and (not cap or places_of(cap)) then
      jobs, length, tenant, charge = take_of_tenants(group, KEYS[i], function(from, to)
        if cap and not note_places(cap, to) then return end
        return take(from, to)
      end)
      if tenant then list = KEYS[1] .. ":" .. ARGV[1] .. ":" .. tenant end
    elseif group then    -- all places are taken
    elseif not cap then
      jobs, length = take(KEYS[i], KEYS[i + 1])
    elseif redis.call("EXISTS", KEYS[i]) == 1 and places_of(cap) and note_places(cap, KEYS[i + 1]) then
      jobs, length = take(KEYS[i], KEYS[i + 1])
    end
    for j = 1, jobs and #jobs or 0 do
      if find(jobs[j], 'quence"', 1, true) then    -- as names_sequence()
        local name, from, some_are_left = tenant or name_of(i), tenant and group.before .. "queue:" .. tenant or KEYS[i], nil
        jobs, some_are_left = sequences(from:sub(1, -#name - #"queue:" - 1)).keep(jobs, from, list, name, take, not cap and not tenant)
        length, status = nil, some_are_left or status
        break
      end
    end
    if charge then charge(jobs and not jobs.err and #jobs or 0) end
    if jobs and not jobs.err then
      queue, held_list = tenant or name_of(i), list
      if held_list == emptied or (length or redis.call("LLEN", held_list)) == #jobs then fetched = jobs end
      break
    elseif jobs then
      skipped[#skipped + 1] = name_of(i)
    end
  end
  if queue == "" then fetched = {} end
end
number = number + 1
if queue ~= noted then redis.call("HSET", KEYS[1], ARGV[1], following .. queue) end
return answer(status, fetched)
