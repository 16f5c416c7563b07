-- Sequences: the jobs of one sequence run one after the other.  Its holder is the job that may run.  The others wait in a
-- list, the next one first.  A job enters its sequence when a worker fetches it, in the script that takes it off its queue.
-- So the order is that of the queue, whichever client has pushed.
--   brood:sequences          a hash, for each sequence that has jobs: "<epoch ms since when it is held> <jid of the holder>"
--   brood:sequence:<name>    the payloads that wait
-- The scripts decode only payloads that have the mark in their text.  Of those they read three members, and change none.
-- `prefix` stands before each key.
-- The search text begins with the rarest letter of "sequence".  This makes it several times as fast as one that begins with
-- a quotation mark, of which a payload has many.
local function names_sequence(payload) return payload:find('quence"', 1, true) end
-- The key of the workers that wait on a queue with jobs of sequences: a hash with a field "<identity>:<slot>.<incarnation>"
-- for each, and a field without a name: when the hash was made, in epoch seconds.  The first such job makes it, so it lacks
-- the workers that began to wait before.  It expires when no such job has come for a week.
local function waits_on(prefix, queue) return prefix .. "brood:waits:" .. queue end
local function note_wait(prefix, queue, worker)
  if redis.pcall("EXISTS", waits_on(prefix, queue)) ~= 1 then return end
  redis.pcall("HDEL", waits_on(prefix, queue), "~")    -- changes nothing: a full Redis lets the rest through
  redis.pcall("HSET", waits_on(prefix, queue), worker, 1)
end
local function end_wait(prefix, queue, worker) redis.pcall("HDEL", waits_on(prefix, queue), worker) end

local function sequences(prefix)
  local holders = prefix .. "brood:sequences"
  local function waiting_in(name) return prefix .. "brood:sequence:" .. name end
  local function is_refused(reply) return type(reply) == "table" and reply.err end

  -- Returns name, jid and queue; nil if the job is in no sequence, or is invalid: then its worker reports the error.
  local function read(payload)
    if not names_sequence(payload) then return nil end
    local is_json, job = pcall(cjson.decode, payload)
    if not is_json or type(job) ~= "table" then return nil end
    local name, jid = job.sequence, job.jid
    if type(name) ~= "string" or name == "" or #name > 255 or type(jid) ~= "string" or jid == "" then return nil end
    return name, jid, job.queue
  end

  -- Returns the jid of the holder; false: there is none; nil: Redis refuses.
  local function holder_of(name)
    local held = redis.pcall("HGET", holders, name)
    if type(held) == "table" then return nil end
    return held and (held:match("^%d+ (.*)$") or held)
  end

  local function hold(name, jid, time)
    time = time or redis.pcall("TIME")
    if is_refused(time) then return false end
    local since = string.format("%.0f", time[1] * 1000 + math.floor(time[2] / 1000))
    return not is_refused(redis.pcall("HSET", holders, name, since .. " " .. jid))
  end

  -- Puts a job that has waited to the head of its queue, and makes it the holder.  Returns false if Redis refuses, with the
  -- key and why.
  local function give_turn(name, payload, jid, queue, time)
    local key = prefix .. "queue:" .. queue
    local pushed = redis.pcall("RPUSH", key, payload)
    if is_refused(pushed) then return false, key, pushed.err end
    redis.pcall("SADD", prefix .. "queues", queue)
    local base, tenant = queue:match("^([^~]+)~(.+)$")
    if base then redis.pcall("ZADD", prefix .. "brood:tenants:" .. base, "NX", 0, tenant) end
    hold(name, jid, time)
    return true
  end

  -- Passes the sequence to the next job that waits: puts it to the head of its queue.  If none waits, the sequence is gone.
  -- Returns false if Redis refuses, with the key of the queue and why: then all stays as it is, and the supervisor's watch
  -- tries again.
  local function pass_on(name)
    local list, time = waiting_in(name), redis.pcall("TIME")
    local payload = redis.pcall("LINDEX", list, 0)
    if type(payload) == "table" or is_refused(time) then return false end
    if not payload then return not is_refused(redis.pcall("HDEL", holders, name)) end
    if is_refused(redis.pcall("LTRIM", list, 0, -1)) then return false end
    local _, jid, queue = read(payload)
    if not jid or type(queue) ~= "string" then    -- another program has put it there
      if is_refused(redis.pcall("ZADD", prefix .. "dead", time[1], payload)) then return false end
      redis.call("LTRIM", list, 1, -1)
      return pass_on(name)
    end
    local given, key, why = give_turn(name, payload, jid, queue, time)
    if not given then return false, key, why end
    redis.call("LTRIM", list, 1, -1)
    return true
  end

  -- Returns the payload, the jid and the queue of the job `jid`, if it waits.  In a long list looks at the last 2000, and at
  -- another 2000 each time.
  local function find_waiting(name, jid)
    local list, time, at_once, most = waiting_in(name), redis.pcall("TIME"), 250, 2000
    local length = redis.pcall("LLEN", list)
    if type(length) ~= "number" or length == 0 or is_refused(time) then return nil end
    local function find(first, last)
      for from = first, last, at_once do
        for _, payload in ipairs(redis.call("LRANGE", list, from, math.min(from + at_once - 1, last))) do
          if payload:find(jid, 1, true) then
            local _, its_jid, queue = read(payload)
            if its_jid == jid and type(queue) == "string" then return payload, jid, queue end
          end
        end
      end
    end
    local tail = math.max(length - most, 0)
    local payload, found, queue = find(tail, length - 1)
    if payload or tail == 0 then return payload, found, queue end
    local first = time[2] % math.ceil(tail / most) * most
    return find(first, math.min(first + most, tail) - 1)
  end

  -- Lets the waiting job `jid` go before the holder.  The holder lies at the head of the queue `from`, and wants a lock that
  -- the waiting job has.  The holder becomes the next that waits.
  local function let_first(name, jid, from)
    local payload, _, queue = find_waiting(name, jid)
    local head, time = redis.pcall("LINDEX", from, -1), redis.pcall("TIME")
    if not payload or type(head) ~= "string" or is_refused(time) then return end
    local own_name, own_jid = read(head)
    if own_name ~= name or holder_of(name) ~= own_jid then return end
    local list = waiting_in(name)
    if is_refused(redis.pcall("LREM", list, 0, "\0")) then return end    -- changes nothing
    if is_refused(redis.pcall("LMOVE", from, list, "RIGHT", "LEFT")) then return end
    if not give_turn(name, payload, jid, queue, time) then
      redis.pcall("LMOVE", list, from, "LEFT", "RIGHT")
      return
    end
    redis.call("LREM", list, 1, payload)
  end

  -- Passes the sequence on if this job holds it: the job has ended, or lets the others pass.
  local function release(name, jid)
    if holder_of(name) == jid then pass_on(name) end
  end

  -- The same for a payload that no worker could read.
  local function release_unreadable(payload)
    local name, jid = read(payload)
    if name then release(name, jid) end
  end

  -- Makes the job the holder if it may run.  Returns whether it may; nil if Redis refuses.  Nothing changes if it may not.
  local function enter(name, jid)
    local holder = holder_of(name)
    if holder == nil then return nil end
    if holder then return holder == jid end
    if redis.pcall("EXISTS", waiting_in(name)) == 0 then return hold(name, jid) or nil end
    -- The holder was lost.  The next job that waits becomes the holder, unless Redis refuses.
    pass_on(name)
    if holder_of(name) == false then return hold(name, jid) or nil end
    return false
  end

  -- Enters a job that lies in `list`, in flight from `queue`.  Returns true if it may run or its worker must ask once more;
  -- false if it has gone to the others that wait.
  local function enter_from(list, queue, payload)
    local name, jid, own_queue = read(payload)
    if not name then return true end
    -- While a job waits for its sequence, only its payload names its queue.
    if type(own_queue) ~= "string" or own_queue ~= queue and queue:sub(1, #own_queue + 1) ~= own_queue .. "@" then
      return true
    end
    if enter(name, jid) ~= false then return true end
    if is_refused(redis.pcall("LREM", list, 0, "\0")) then return true end    -- changes nothing
    if is_refused(redis.pcall("RPUSH", waiting_in(name), payload)) then return true end
    redis.call("LREM", list, 1, payload)
    return false
  end

  local function list_of(worker, queue) return prefix .. "brood:inflight:" .. worker .. ":" .. queue end

  -- Removes the fields of workers that are gone.  Called now and then.
  local function forget_dead_waits(queue, workers)
    for _, worker in ipairs(workers) do
      local identity, field = worker:match("^(.*):([^:]*)$")
      if identity and redis.pcall("HEXISTS", prefix .. "brood:inflight:" .. identity, field) == 0 then end_wait(prefix, queue, worker) end
    end
  end

  -- All lists into which a wait may just have brought a job of this queue.
  local function lists_of_waits(queue)
    local waits, time = waits_on(prefix, queue), redis.pcall("TIME")
    local since = redis.pcall("HGET", waits, "")
    local lists, now = {}, not is_refused(time) and tonumber(time[1])
    since = type(since) == "string" and tonumber(since)
    if now and not since then redis.pcall("HSET", waits, "", now) end
    redis.pcall("EXPIRE", waits, 604800)
    if now and since and now - since > 90 then    -- a worker waits for a minute
      local workers = redis.pcall("HKEYS", waits)
      for _, worker in ipairs(workers) do lists[#lists + 1] = worker ~= "" and list_of(worker, queue) or nil end
      if time[2] % 256 == 0 then forget_dead_waits(queue, workers) end
      return lists
    end
    local ending = " " .. queue
    for _, identity in ipairs(redis.pcall("HKEYS", prefix .. "brood:processes")) do
      local fields = redis.pcall("HGETALL", prefix .. "brood:inflight:" .. identity)
      for i = 2, #fields, 2 do
        if fields[i]:sub(-#ending) == ending then lists[#lists + 1] = list_of(identity .. ":" .. fields[i - 1], queue) end
      end
    end
    return lists
  end

  -- Whether BLMOVE has brought a worker a job of this queue that has not entered yet.  That job enters by the next script on
  -- that worker's connection.  The jobs that were behind it in the queue must not enter before it.
  local function some_arrive(queue, own_list)
    local lists, at_once = lists_of_waits(queue), 100    -- most are empty
    for first = 1, #lists, at_once do
      local last = math.min(first + at_once - 1, #lists)
      local are_some = redis.pcall("EXISTS", unpack(lists, first, last)) ~= 0
      for i = first, are_some and last or 0 do
        local payload, name, jid = lists[i] ~= own_list and redis.pcall("LINDEX", lists[i], -1), nil, nil
        if type(payload) == "string" then name, jid = read(payload) end
        if name and holder_of(name) ~= jid then return true end
      end
    end
    return false
  end

  -- Puts jobs back to the head of the queue `from`: the oldest of them is the next again.  Returns false if Redis refuses;
  -- then nothing has changed.
  local function put_back(from, list, jobs)
    local newest_first = {}
    for i = #jobs, 1, -1 do newest_first[#newest_first + 1] = jobs[i] end
    if is_refused(redis.pcall("LREM", list, 0, "\0")) then return false end    -- changes nothing
    if is_refused(redis.pcall("RPUSH", from, unpack(newest_first))) then return false end
    for _, job in ipairs(jobs) do redis.call("LREM", list, 1, job) end
    return true
  end

  -- Whether another worker's job has to enter before these, which were just moved from the queue `from` to `list`.  If so,
  -- they have been put back.
  local function comes_too_early(jobs, from, list, queue)
    return some_arrive(queue, list) and put_back(from, list, jobs)
  end

  -- Lets jobs enter that were just moved from the queue `from` to `list`, the oldest first.  If all of them wait now, goes
  -- on with those that `take` moves.  Returns the jobs that may run, or false; and if the queue must be asked again, "MORE"
  -- (many jobs have gone to wait) or "SOON" (another worker's job comes first).  Workers wait on the queue only if
  -- `is_waited_on`.
  local most_moved = 256
  local function keep(jobs, from, list, queue, take, is_waited_on)
    local some_name = false
    for _, job in ipairs(jobs) do some_name = some_name or read(job) ~= nil end
    if not some_name then return jobs end
    if is_waited_on and comes_too_early(jobs, from, list, queue) then return false, "SOON" end
    local moved = 0
    while true do
      local kept = {}
      for _, job in ipairs(jobs) do
        if enter_from(list, queue, job) then kept[#kept + 1] = job else moved = moved + 1 end
      end
      if #kept > 0 then return kept end
      if moved >= most_moved then return false, "MORE" end
      jobs = take(from, list)
      if not jobs or jobs.err then return jobs end
    end
  end

  return {read = read, enter = enter, enter_from = enter_from, keep = keep, comes_too_early = comes_too_early,
          release = release, release_unreadable = release_unreadable, pass_on = pass_on, find_waiting = find_waiting, let_first = let_first}
end
