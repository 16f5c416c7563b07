-- Takes the wanted amounts of a job's limits: all of them or none.
-- KEYS[1] "brood:limits"    KEYS[2...] for each limit: its definition, its used amount, and the mark that a worker waits
-- ARGV[1] the holder    ARGV[2] the number of its last settle    ARGV[3] ms that the job may still wait
-- ARGV[4] ms that it has waited
-- ARGV[5...] for each limit: its name, kind, amount, interval in ms, wanted amount, seconds that it is kept, and the age of
-- this definition in ms
-- Returns {"TAKEN"}; {"OVER", number of the limit, from 1}; or {"WAIT", number of the limit, ms until it may be free, -1:
-- unknown}.  For a limit of concurrency the last two are followed by the holders of other shards and their numbers.
-- If a name has two definitions, the later one applies, so an older worker obeys the new definition.
-- include: pieces/living_holders.lua
-- include: pieces/used_of_period.lua
local function is(key, wanted)
  local kind = redis.call("TYPE", key).ok
  return kind == wanted or kind == "none", kind
end
local function refuse(key) return redis.error_reply("WRONGTYPE " .. key .. " is a " .. redis.call("TYPE", key).ok) end
-- How many holders of an exhausted limit one call looks at; the next call looks at the next ranks.  So a refusal costs no
-- more with thousands of slots, and a slot whose holder ended without giving it back is found within a few calls.
local most_looked_at = 128
local function type_of_used(kind) return (kind == "concurrent" or kind == "window") and "zset" or "hash" end

local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local may_wait, has_waited = tonumber(ARGV[3]), tonumber(ARGV[4])
if not is(KEYS[1], "zset") then return refuse(KEYS[1]) end

local limits, blocker = {}, nil
for i = 1, (#ARGV - 4) / 7 do
  local at = 7 * i - 3
  local limit = {name = ARGV[at + 1], kind = ARGV[at + 2], amount = tonumber(ARGV[at + 3]), interval = tonumber(ARGV[at + 4]),
                 wanted = tonumber(ARGV[at + 5]), known_for = tonumber(ARGV[at + 6]),
                 definition = KEYS[3 * i - 1], used = KEYS[3 * i], waited_for = KEYS[3 * i + 1]}
  limits[i] = limit
  if not is(limit.definition, "hash") then return refuse(limit.definition) end
  local stored = redis.call("HMGET", limit.definition, "kind", "amount", "interval", "at", "hour", "look")
  local kind, amount, interval = stored[1], tonumber(stored[2] or ""), tonumber(stored[3] or "")
  local is_known = kind and amount and interval
  local differs = not is_known or kind ~= limit.kind or amount ~= limit.amount or interval ~= limit.interval
  local defined = now - tonumber(ARGV[at + 7])
  if differs and is_known and defined < (tonumber(stored[4] or "") or 0) then
    limit.kind, limit.amount, limit.interval = kind, amount, interval
  elseif differs then
    limit.defined = defined
    limit.begins_anew = is_known and (kind ~= limit.kind or interval ~= limit.interval)
  end
  limit.is_seen = stored[5] == string.format("%d", math.floor(now / 3600000))
  local fits, found = is(limit.used, type_of_used(limit.kind))
  if not fits then
    if not limit.begins_anew or (found ~= "zset" and found ~= "hash") then return refuse(limit.used) end
  end

  -- Whether it may be had, else when.
  local fresh, wait = limit.begins_anew, nil
  if limit.kind == "concurrent" then
    local own = not fresh and redis.call("ZSCORE", limit.used, ARGV[1])
    local count = fresh and 0 or redis.call("ZCARD", limit.used)
    local is_own = own and number_of(own) == number_of(ARGV[2])
    if not is_own and count - (own and 1 or 0) >= limit.amount then
      local from, living = 0, nil
      if count > most_looked_at then
        from = (tonumber(stored[6] or "") or 0) % count
        limit.look = from + most_looked_at
      end
      living, limit.gone = holders(limit.used, from, most_looked_at)
      local gone = #limit.gone + (own and 1 or 0)
      for _, member in ipairs(own and limit.gone or {}) do
        if member == ARGV[1] then gone = gone - 1 end
      end
      if count - gone >= limit.amount then wait, limit.living = -1, living end
    end
  elseif limit.kind == "window" then
    local sum = 0
    if not fresh then sum, limit.expired = used_in_window(limit.used, limit.interval, now) end
    limit.level = sum + limit.wanted
    if limit.level > limit.amount then
      wait = limit.interval
      local rest = limit.level
      local oldest = redis.call("ZRANGEBYSCORE", limit.used, "(" .. now - limit.interval, now + limit.interval, "WITHSCORES", "LIMIT", 0, 100)
      for j = 1, #oldest, 2 do
        rest = rest - (tonumber(oldest[j]:match(" (%d+)$") or "") or 0)
        wait = tonumber(oldest[j + 1]) + limit.interval - now
        if rest <= limit.amount then break end
      end
    end
  else
    local level = 0
    if fresh then
      limit.at = limit.kind == "bucket" and math.floor(now / limit.interval) or now
    else
      level, limit.at = used_in_hash(limit.kind, limit.used, limit.amount, limit.interval, now)
    end
    limit.level = level + limit.wanted
    if limit.level > limit.amount + 0.000001 then
      wait = limit.kind == "bucket" and (limit.at + 1) * limit.interval - now
             or math.ceil((limit.level - limit.amount) * limit.interval / limit.amount)
    end
  end
  if wait and (not blocker or wait < 0 or (blocker.wait >= 0 and wait > blocker.wait)) then blocker = {limit = limit, which = i, wait = wait} end
end

-- First a write that may free memory: a full Redis accepts what follows.
redis.call("HDEL", limits[1].definition, "~")
for _, limit in ipairs(limits) do
  if limit.defined then
    redis.call("HSET", limit.definition, "kind", limit.kind, "amount", limit.amount, "interval", limit.interval, "at",
               string.format("%d", limit.defined))
    if limit.begins_anew then redis.call("DEL", limit.used) end
  end
  if limit.defined or not limit.is_seen then
    redis.call("HSET", limit.definition, "hour", string.format("%d", math.floor(now / 3600000)))
    redis.call("EXPIRE", limit.definition, limit.known_for)
    redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", time[1])
    redis.call("ZADD", KEYS[1], time[1] + limit.known_for, limit.name)
  end
  if (limit.expired or 0) > 0 then forget_in_window(limit.used, limit.interval, now, limit.level - limit.wanted) end
  if limit.look then redis.call("HSET", limit.definition, "look", limit.look) end
  if limit.gone and #limit.gone > 0 then
    redis.call("ZREM", limit.used, unpack(limit.gone, 1, math.min(#limit.gone, 1000)))
    redis.call("HINCRBY", limit.definition, "reclaimed", #limit.gone)
  end
end

if blocker then
  local limit = blocker.limit
  local answer = {"WAIT", blocker.which, blocker.wait}
  if may_wait <= 0 or blocker.wait > may_wait or (limit.kind ~= "concurrent" and limit.wanted > limit.amount) then
    answer = {"OVER", blocker.which, blocker.wait}
    redis.call("HINCRBY", limit.definition, "over", 1)
  elseif blocker.wait < 0 then
    redis.call("SET", limit.waited_for, 1, "PX", may_wait + 1000)
  end
  for _, member in ipairs(limit.living or {}) do
    if is_of_another_shard(member) then
      answer[#answer + 1] = member
      answer[#answer + 1] = redis.call("ZSCORE", limit.used, member)
    end
  end
  return answer
end

for _, limit in ipairs(limits) do
  if limit.kind == "concurrent" then
    redis.call("ZADD", limit.used, ARGV[2], ARGV[1])
    redis.call("EXPIRE", limit.used, math.max(limit.known_for, 90 * 86400))    -- a job may be long
  elseif limit.kind == "window" then
    local taken = redis.call("HINCRBY", limit.definition, "serial", 1)
    redis.call("ZADD", limit.used, -1 - limit.level, "sum", now, string.format("%d %d", taken, limit.wanted))
    redis.call("PEXPIRE", limit.used, 2 * limit.interval)
  else
    redis.call("HSET", limit.used, "l", string.format("%.17g", limit.level), "t", string.format("%d", limit.at))
    if limit.kind == "points" then redis.call("HSET", limit.used, "ms", string.format("%.17g", limit.interval / limit.amount)) end
    redis.call("PEXPIRE", limit.used, 2 * limit.interval)
  end
  redis.call("HINCRBY", limit.definition, "taken", 1)
  if has_waited > 0 then
    redis.call("HINCRBY", limit.definition, "waited", 1)
    redis.call("HINCRBY", limit.definition, "waited_ms", has_waited)
  end
end
return {"TAKEN"}
