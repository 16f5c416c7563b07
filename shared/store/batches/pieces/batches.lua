-- What becomes of batches, whose keys batch.hpp lists.  Made when it is first used, as most calls have nothing to do with
-- one.  batches().end_jobs() counts jobs that have ended, end_callback() a callback; settle() fires the events that are due;
-- cancel() cancels.  Each takes the key of the batch's hash.
local made_batches
local function batches()
  if made_batches then return made_batches end
  local time = redis.call("TIME")
  local now_s, now_ms = tonumber(time[1]), string.format("%d%03d", time[1], math.floor(time[2] / 1000))
  local pending_for, ended_for = 2592000, 86400
  local numbers = {"total", "succeeded", "failing", "dead", "open", "opening", "kids", "kids:complete", "kids:success",
                   "kids:finished", "died", "cancelled"}

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
    for _, part in ipairs({"", ":states", ":children", ":opening", ":steps", ":waiting", ":results"}) do
      redis.call("EXPIRE", batch.key .. part, seconds)
    end
    redis.call("ZADD", batch.prefix .. "brood:batches", now_s + seconds, batch.bid)
  end

  -- Pushes "<queue> <unit of time> <jid> <payload without its last brace>".  A queue that is no list gets nothing: the job
  -- goes to the dead set.  Returns the jid.
  local function push_callback(batch, text)
    local queue, unit, jid, payload = text:match("^(%S+) (%S+) (%S+) (.*)$")
    local time = unit == "ms" and now_ms or now_ms:sub(1, -4) .. "." .. now_ms:sub(-3)
    if type(redis.pcall("LPUSH", batch.prefix .. "queue:" .. queue, payload .. ',"enqueued_at":' .. time .. "}")) == "number" then
      redis.pcall("SADD", batch.prefix .. "queues", queue)
    else
      redis.pcall("ZADD", batch.prefix .. "dead", now_s, payload .. ',"error_class":"NoQueue","error_message":"queue:' .. queue ..
                  ' is no list, or may not be written to","failed_at":' .. time .. "}")
    end
    return jid
  end

  -- The callbacks of the event have ended.  Returns whether its parent hears of it.
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
      redis.call("HSET", batch.key, "callback:" .. push_callback(batch, callback), event)
    end
    if calls == 0 then return close(batch, event) end
    redis.call("HSET", batch.key, "calls:" .. event, calls)
    return false
  end

  -- Fires what is due in a batch; and in its parents, as far as that ends something for them.
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

  local function cancel(key)
    redis.call("HSETNX", key, "cancelled", now_s)
    redis.call("HSET", key, "open", 0)
    settle(key)
  end

  -- A push into another batch has not returned, and the job that pushed has ended: its process is dead.
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

  -- Jobs by their indices, as "7" or "7,8,12".  `verdict` is "done", "failed", or "dead" and how many seconds the batch is kept
  -- then.  The states: 0 pending, 1 failing, 2 dead, 3 succeeded.  A job that has succeeded stays so.
  local function end_jobs(key, indices, verdict)
    local batch, states, ended = read(key), key .. ":states", {}
    local ends = verdict == "done" and 3 or verdict == "failed" and 1 or 2
    local look, looked = {"BITFIELD", states}, {}
    for text in indices:gmatch("%d+") do
      local index = tonumber(text)
      if index < batch.total and not ended[text] then
        ended[text] = true
        looked[#looked + 1] = text
        for _, word in ipairs(ends == 3 and {"SET", "u2", "#" .. text, 3} or {"GET", "u2", "#" .. text}) do look[#look + 1] = word end
      end
    end
    if #looked == 0 then return end
    local before = redis.call(unpack(look))
    local counts, change = {[0] = 0, 0, 0, 0}, {"BITFIELD", states}
    for i, text in ipairs(looked) do
      if before[i] ~= 3 and before[i] ~= ends then
        counts[before[i]] = counts[before[i]] - 1
        counts[ends] = counts[ends] + 1
        if ends ~= 3 then
          for _, word in ipairs({"SET", "u2", "#" .. text, ends}) do change[#change + 1] = word end
        end
      end
    end
    if #change > 2 then redis.call(unpack(change)) end
    batch.failing, batch.dead, batch.succeeded = batch.failing + counts[1], batch.dead + counts[2], batch.succeeded + counts[3]
    redis.call("HSET", key, "failing", batch.failing, "dead", batch.dead, "succeeded", batch.succeeded)
    local dies = counts[2] > 0 and batch.died == 0
    if dies then
      redis.call("HSET", key, "died", 1)
      expire(batch, math.max(pending_for, tonumber(verdict:match("%d+")) or 0))
    end
    if batch.opening > 0 then cancel_opened_by(batch, function(by) return ended[by] end) end
    if dies or batch.total - batch.succeeded - batch.dead == batch.failing then settle(key) end
  end

  -- A callback that is dead has ended for all events but success: that waits until it is retried.
  local function end_callback(key, jid, verdict)
    if verdict == "failed" then return end
    local event = redis.call("HGET", key, "callback:" .. jid)
    local batch = read(key)
    if batch.opening > 0 then cancel_opened_by(batch, function(by) return by == jid end) end
    if not event or event == "success" and verdict ~= "done" then return end
    redis.call("HDEL", key, "callback:" .. jid)
    if redis.call("HINCRBY", key, "calls:" .. event, -1) <= 0 and close(batch, event) then settle(batch.parent) end
  end

  made_batches = {now_s = now_s, pending_for = pending_for, ended_for = ended_for, read = read, exists = exists, expire = expire,
                  settle = settle, cancel = cancel, close = close, end_jobs = end_jobs, end_callback = end_callback}
  return made_batches
end
