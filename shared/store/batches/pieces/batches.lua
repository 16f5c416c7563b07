-- Ends jobs in the common case: they end in the order in which they were pushed, and no event is due.  Then whole bytes of
-- states, each of four jobs, go from pending to succeeded.  In any other case returns false and changes nothing.
local function end_jobs_in_order(key, indices)
  local first, last = indices:match("^(%d+)%-(%d+)$")
  local total, succeeded, failing, dead, steps, opening = unpack(redis.call("HMGET", key, "total", "succeeded", "failing", "dead",
                                                                            "steps", "opening"))
  first, last, total = tonumber(first), tonumber(last), tonumber(total or nil)
  if not first or not total or last >= total or steps or (tonumber(opening or nil) or 0) > 0 then return false end
  local pending = total - (succeeded or 0) - (dead or 0) - (last - first + 1)
  if pending <= (tonumber(failing or nil) or 0) then return false end
  local from, to = math.floor(first / 4), math.floor(last / 4)
  local states = redis.call("GETRANGE", key .. ":states", from, to)
  local front, back = states:byte(1) or 0, states:byte(to - from + 1) or 0
  local own_front, others_back = 4 ^ (4 - first % 4), 4 ^ (3 - last % 4)    -- the first is in the highest bits of a byte
  local between = states:find("[^%z]", 2) or math.huge
  if from == to or front % own_front > 0 or back >= others_back or between <= to - from then return false end
  redis.call("SETRANGE", key .. ":states", from, string.char(front + own_front - 1) .. string.rep("\255", to - from - 1) ..
             string.char(256 - others_back + back))
  redis.call("HINCRBY", key, "succeeded", last - first + 1)
  return true
end

-- Returns the operations on batches; batch.hpp lists the keys.  They are made at first use, since most calls concern no
-- batch.
-- batches().end_jobs() counts jobs that have ended, end_callback() a callback; settle() fires the events that are due; cancel()
-- cancels.  Each takes the key of the batch's hash.
local made_batches
local function batches()
  if made_batches then return made_batches end
  local time = redis.call("TIME")
  local now_s, now_ms = tonumber(time[1]), string.format("%d%03d", time[1], math.floor(time[2] / 1000))
  local pending_for, ended_for, most_steps = 2592000, 86400, 1000
  local numbers = {"total", "succeeded", "failing", "dead", "open", "opening", "kids", "kids:complete", "kids:success",
                   "kids:finished", "died", "cancelled", "steps"}

  local function read(key)
    local batch, values = {key = key}, redis.call("HMGET", key, "parent", unpack(numbers))
    batch.bid = key:match("brood:batch:([%w_-]+)$")
    batch.prefix = key:sub(1, -#batch.bid - 13)
    batch.parent = values[1] and batch.prefix .. "brood:batch:" .. values[1]
    for i, name in ipairs(numbers) do batch[name] = tonumber(values[i + 1] or nil) or 0 end
    return batch
  end

  local function exists(key) return redis.call("TYPE", key).ok == "hash" end

  local function expire(batch, seconds)
    for _, part in ipairs({"", ":states", ":children", ":opening", ":steps", ":results"}) do
      redis.pcall("EXPIRE", batch.key .. part, seconds)
    end
    redis.pcall("ZADD", batch.prefix .. "brood:batches", now_s + seconds, batch.bid)
  end

  -- "<queue> <unit of time> <jid> <payload without its last brace>": the form in which callbacks and steps are kept.
  local function read_kept(text)
    local kept = {}
    kept.queue, kept.unit, kept.jid, kept.payload = text:match("^(%S+) (%S+) (%S+) (.*)$")
    kept.time = kept.unit == "ms" and now_ms or now_ms:sub(1, -4) .. "." .. now_ms:sub(-3)
    return kept
  end

  -- Moves a job to the dead set and returns its entry there.
  local function bury(batch, kept, error_class, message)
    local entry = kept.payload .. ',"error_class":"' .. error_class .. '","error_message":"' .. message .. '","failed_at":' ..
                  kept.time .. ',"retry_count":0}'
    redis.pcall("ZADD", batch.prefix .. "dead", now_s, entry)
    return entry
  end

  local function no_queue(kept) return "NoQueue", "queue:" .. kept.queue .. " is no list, or may not be written to" end

  -- Pushes a job to its queue, or to the dead set if the queue's key is no list.  Returns whether it went to the queue.
  local function push(batch, kept)
    local payload = kept.payload .. ',"enqueued_at":' .. kept.time .. "}"
    if type(redis.pcall("LPUSH", batch.prefix .. "queue:" .. kept.queue, payload)) == "number" then
      redis.pcall("SADD", batch.prefix .. "queues", kept.queue)
      local base, tenant = kept.queue:match("^([^~]+)~(.+)$")
      if base then redis.pcall("ZADD", batch.prefix .. "brood:tenants:" .. base, "NX", 0, tenant) end
      return true
    end
    bury(batch, kept, no_queue(kept))
    return false
  end

  -- Writes the report of a step that ends without a run, if it keeps one, and wakes those who wait for it: see
  -- kept_report.hpp.
  local function report_step(batch, of, kept, state, error_class, message)
    local seconds, jid = (redis.call("HGET", batch.key .. ":steps", "report:" .. of) or ""):match("^(%d+) (.+)$")
    if not seconds then return end
    local key = batch.prefix .. "brood:report:" .. kept.jid
    redis.pcall("UNLINK", key)    -- brood-client may do this, and not DEL and RPUSH
    redis.pcall("LPUSH", key, '{"jid":' .. jid .. ',"state":"' .. state .. '","result":null,"error_class":"' .. error_class ..
                '","error_message":"' .. message .. '","elapsed":null,"ended_at":' .. now_ms:sub(1, -4) .. "." ..
                now_ms:sub(-3) .. "}")
    redis.pcall("EXPIRE", key, seconds)
  end

  -- Notes that the callbacks of an event have ended.  Returns whether that may make an event of the parent due.
  local function close(batch, event)
    if redis.call("HSETNX", batch.key, "closed:" .. event, now_s) == 0 then return false end
    if event == "success" then expire(batch, ended_for) end
    if not batch.parent or not exists(batch.parent) then return false end
    if event == "death" then redis.call("HSET", batch.parent, "died", 1)
    else redis.call("HINCRBY", batch.parent, "kids:" .. event, 1) end
    return true
  end

  local function fire(batch, event)
    if redis.call("HSETNX", batch.key, "fired:" .. event, now_s) == 0 then return false end
    local calls = 0
    while true do
      local callback = redis.call("HGET", batch.key, "on:" .. event .. ":" .. calls + 1)
      if not callback then break end
      calls = calls + 1
      local kept = read_kept(callback)
      push(batch, kept)
      redis.call("HSET", batch.key, "callback:" .. kept.jid, event)
    end
    if calls == 0 then return close(batch, event) end
    redis.call("HSET", batch.key, "calls:" .. event, calls)
    return false
  end

  -- Fires the events that are due in a batch.  Goes on with its parent as long as the end of a child may make events of the
  -- parent due.
  local function settle(key)
    while key and exists(key) do
      local batch, heard = read(key), false
      local pending = batch.total - batch.succeeded - batch.dead
      if batch.cancelled > 0 then
        if pending == 0 and batch["kids:finished"] >= batch.kids then
          heard = fire(batch, "finished")
          heard = close(batch, "complete") or heard
          if batch.dead == 0 then heard = close(batch, "success") or heard end
        end
      elseif batch.open <= 0 then
        if batch.died > 0 then heard = fire(batch, "death") end
        if pending == batch.failing and batch["kids:complete"] >= batch.kids then heard = fire(batch, "complete") or heard end
        if pending == 0 and batch.dead == 0 and batch["kids:success"] >= batch.kids then heard = fire(batch, "success") or heard end
        if pending == 0 and batch["kids:finished"] >= batch.kids then heard = fire(batch, "finished") or heard end
      end
      key = heard and batch.parent
    end
  end

  -- The steps of a flow are in a hash of their own; `of` is the index of each:
  --   name:<of>   jid:<of>   queued:<of>: what is pushed at its release, absent afterwards   before:<of>: the number of
  --   steps that it waits for
  --   after:<of>: the indices of those that wait for it   if_failed:<of>: its fate when one of these dies
  --   report:<of>: the seconds for which its report is kept, and its jid as JSON; absent if it has no report
  --   passed:<one>:<of>: it no longer waits for this one   failed:<of>: its entry in the dead set, after such a death
  local function set_state(batch, of, state) redis.call("BITFIELD", batch.key .. ":states", "SET", "u2", "#" .. of, state) end

  local function release(batch, of, kept)
    redis.call("HDEL", batch.key .. ":steps", "queued:" .. of)
    if not push(batch, kept) then
      set_state(batch, of, 2)
      batch.dead, batch.has_death = batch.dead + 1, true
      report_step(batch, of, kept, "dead", no_queue(kept))
    end
  end

  -- Releases or ends the steps that waited for the ones in `ended`: the index and "done" or "dead" of each.  Changes the counts
  -- only in `batch`.
  local function follow(batch, ended)
    local steps, at = batch.key .. ":steps", 1
    while ended[at] do
      local one, how = unpack(ended[at])
      at = at + 1
      for of in (redis.call("HGET", steps, "after:" .. one) or ""):gmatch("%d+") do
        local queued, if_failed, failed = unpack(redis.call("HMGET", steps, "queued:" .. of, "if_failed:" .. of, "failed:" .. of))
        local kept = queued and read_kept(queued)
        if kept and how == "dead" and if_failed ~= "run" then
          local why = "the step " .. (redis.call("HGET", steps, "name:" .. one) or one) .. " has died"
          if if_failed == "skip" then
            redis.call("HDEL", steps, "queued:" .. of)
            set_state(batch, of, 3)
            batch.succeeded = batch.succeeded + 1
            report_step(batch, of, kept, "done", "StepSkipped", why)
            ended[#ended + 1] = {of, "done"}
          elseif not failed then
            redis.call("HSET", steps, "failed:" .. of, bury(batch, kept, "DependencyFailed", why))
            report_step(batch, of, kept, "dead", "DependencyFailed", why)
            set_state(batch, of, 2)
            batch.dead = batch.dead + 1
            ended[#ended + 1] = {of, "dead"}
          end
        elseif kept and redis.call("HSETNX", steps, "passed:" .. one .. ":" .. of, 1) == 1 and
               redis.call("HINCRBY", steps, "before:" .. of, -1) <= 0 then
          if not failed then
            release(batch, of, kept)
          else
            redis.call("HDEL", steps, "failed:" .. of)
            if redis.call("ZREM", batch.prefix .. "dead", failed) == 1 then
              set_state(batch, of, 0)
              batch.dead = batch.dead - 1
              release(batch, of, kept)
            else    -- an operator has retried or deleted it
              redis.call("HDEL", steps, "queued:" .. of)
            end
          end
        end
      end
    end
  end

  -- Calls `visit` with the index of each step that waits for others, and its job.  By commands that brood-client may run.
  local function each_waiting_step(batch, visit)
    local steps = batch.key .. ":steps"
    for index = 0, math.min(batch.steps, most_steps) - 1 do
      local of = string.format("%d", index)
      local queued = redis.call("HGET", steps, "queued:" .. of)
      if queued and redis.call("HEXISTS", steps, "failed:" .. of) == 0 then visit(of, read_kept(queued)) end
    end
  end

  local function cancel(key)
    redis.call("HSETNX", key, "cancelled", now_s)
    redis.call("HSET", key, "open", 0)
    local batch = read(key)
    each_waiting_step(batch, function(of, kept)
      redis.call("HDEL", key .. ":steps", "queued:" .. of)
      set_state(batch, of, 3)
      redis.call("HINCRBY", key, "succeeded", 1)
      report_step(batch, of, kept, "done", "JobDropped", "its batch was cancelled")
    end)
    settle(key)
  end

  -- For a batch that is deleted: its steps that wait go with it.
  local function report_deleted_steps(batch)
    each_waiting_step(batch, function(of, kept)
      report_step(batch, of, kept, "dead", "JobDeleted", "its batch was deleted")
    end)
  end

  -- Cancels the batches that jobs which have ended were still pushing: such a job ended before its push returned, so its
  -- process died.
  local function cancel_opened_by(batch, is_ended)
    local opening = redis.call("HGETALL", batch.key .. ":opening")
    for i = 1, #opening, 2 do
      if is_ended(opening[i + 1]) then
        redis.call("HDEL", batch.key .. ":opening", opening[i])
        redis.call("HINCRBY", batch.key, "opening", -1)
        local child = batch.prefix .. "brood:batch:" .. opening[i]
        if exists(child) then cancel(child) end
      end
    end
  end

  -- Ends jobs given by their indices, as "7" or "7,8-12".  `verdict` is "done", "failed", or "dead" and the seconds for
  -- which the batch is then kept.  The states: 0 pending, 1 failing, 2 dead, 3 succeeded, which is final.
  local function end_jobs(key, indices, verdict)
    if not exists(key) then return end
    local batch, states, ended = read(key), key .. ":states", {}
    local ends = verdict == "done" and 3 or verdict == "failed" and 1 or 2
    local look, looked = {"BITFIELD", states}, {}
    local counts = {[0] = 0, 0, 0, 0}
    for first, last in indices:gmatch("(%d+)%-?(%d*)") do
      for index = tonumber(first), math.min(tonumber(last) or tonumber(first), batch.total - 1) do
        local text = string.format("%d", index)
        if not ended[text] then
          ended[text] = true
          looked[#looked + 1] = text
          look[#look + 1] = ends == 3 and "SET" or "GET"
          look[#look + 1] = "u2"
          look[#look + 1] = "#" .. text
          if ends == 3 then look[#look + 1] = 3 end
        end
      end
    end
    if #looked == 0 then return end
    local before = redis.call(unpack(look))
    local change, followed = {"BITFIELD", states}, {}
    for i, text in ipairs(looked) do
      if before[i] ~= 3 and before[i] ~= ends then
        counts[before[i]] = counts[before[i]] - 1
        counts[ends] = counts[ends] + 1
        if ends ~= 1 then followed[#followed + 1] = {text, ends == 3 and "done" or "dead"} end
        if ends ~= 3 then
          for _, word in ipairs({"SET", "u2", "#" .. text, ends}) do change[#change + 1] = word end
        end
      end
    end
    if #change > 2 then redis.call(unpack(change)) end
    batch.failing, batch.dead, batch.succeeded = batch.failing + counts[1], batch.dead + counts[2], batch.succeeded + counts[3]
    if batch.steps > 0 and batch.cancelled == 0 then follow(batch, followed) end
    redis.call("HSET", key, "failing", batch.failing, "dead", batch.dead, "succeeded", batch.succeeded)
    local dies = (counts[2] > 0 or batch.has_death) and batch.died == 0
    if dies then
      redis.call("HSET", key, "died", 1)
      expire(batch, math.max(pending_for, tonumber(verdict:match("%d+")) or 0))
    end
    if batch.opening > 0 then cancel_opened_by(batch, function(by) return ended[by] end) end
    if dies or batch.total - batch.succeeded - batch.dead == batch.failing then settle(key) end
  end

  -- A dead callback has ended for all events but success, which waits until it is retried.
  local function end_callback(key, jid, verdict)
    if verdict == "failed" or not exists(key) then return end
    local event = redis.call("HGET", key, "callback:" .. jid)
    local batch = read(key)
    if batch.opening > 0 then cancel_opened_by(batch, function(by) return by == jid end) end
    if not event or event == "success" and verdict ~= "done" then return end
    redis.call("HDEL", key, "callback:" .. jid)
    if redis.call("HINCRBY", key, "calls:" .. event, -1) <= 0 and close(batch, event) then settle(batch.parent) end
  end

  made_batches = {now_s = now_s, pending_for = pending_for, ended_for = ended_for, read = read, exists = exists, expire = expire,
                  settle = settle, cancel = cancel, report_deleted_steps = report_deleted_steps, close = close, end_jobs = end_jobs, end_callback = end_callback, release = release,
                  read_kept = read_kept}
  return made_batches
end
