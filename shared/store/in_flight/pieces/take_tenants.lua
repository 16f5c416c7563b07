-- Takes jobs of the tenant of a base whose turn it is: see tenants/tenants.hpp.
-- include: pieces/enter_tenant.lua
local function is_tenant_of(group, tenant)
  for _, pattern in ipairs(group.skipped) do
    if tenant:match(pattern) then return false end
  end
  for _, pattern in ipairs(group.taken) do
    if tenant:match(pattern) then return true end
  end
  return #group.taken == 0
end
local function turn_text(score) return string.format("%.17g", score) end

-- New tenants have score 0 and so come first.  Gives each the lowest score that another tenant has, or the score with which
-- it left if that is higher.
local function place_new_tenants(group, turns, candidates)
  local away = group.before .. "brood:tenants_away:" .. group.base
  local lowest = redis.pcall("ZRANGEBYSCORE", turns, 1, "+inf", "WITHSCORES", "LIMIT", 0, 1)[2]
  if not lowest then lowest = redis.pcall("ZRANGE", away, 0, 0, "WITHSCORES")[2] or "1" end
  for i = 1, #candidates, 2 do
    if tonumber(candidates[i + 1]) >= 1 then break end
    local tenant, score = candidates[i], tonumber(lowest)
    local left_with = redis.pcall("ZSCORE", away, tenant)
    if type(left_with) == "string" then
      score = math.max(score, tonumber(left_with))
      redis.pcall("ZREM", away, tenant)
    end
    redis.pcall("ZADD", turns, turn_text(score), tenant)
  end
end
local function leave_turns(group, turns, tenant, score)
  if type(redis.pcall("ZADD", group.before .. "brood:tenants_away:" .. group.base, turn_text(score), tenant)) == "table" then return end
  redis.pcall("ZREM", turns, tenant)
end

-- Drops tenants that have no jobs from the turns.  If they were noted as idle, they have had jobs since, so that note goes
-- too; but the note of one whose name is off the list of queues stays.
local function drop_tenants(group, turns, names)
  redis.pcall("ZREM", turns, unpack(names))
  local idle, had_some, queues = group.before .. "brood:tenants_idle", {}, {}
  for i, name in ipairs(names) do queues[i] = group.base .. "~" .. name end
  local since = redis.pcall("ZMSCORE", idle, unpack(queues))
  for i, queue in ipairs(queues) do
    if since[i] and tonumber(since[i]) >= 0 then had_some[#had_some + 1] = queue end
  end
  if #had_some > 0 then redis.pcall("ZREM", idle, unpack(had_some)) end
end

-- The caps that hold for a tenant; nil for none.  Jobs of `home` that were set aside count as its own.
local function caps_of_tenant(group, tenant, home)
  local caps
  for _, cap in ipairs(group.caps) do
    local holds = cap.of == "each" or (cap.of == "is" or cap.of == "among") and home == cap.name or
      cap.of == "ends" and tenant:sub(-#cap.name) == cap.name
    if holds then
      caps = caps or {}
      caps[#caps + 1] = cap.of == "each" and {key = cap.key .. "~" .. home, base_key = cap.key, most = cap.most} or cap
      caps.are_shared = caps.are_shared or cap.of == "ends" or cap.of == "among" or home ~= tenant
    end
  end
  return caps
end

-- The tenant whose jobs these are: those of "acme@heavy" were set aside for a cap.
local function home_of_tenant(group, tenant)
  for _, cap in ipairs(group.caps) do
    if cap.of == "ends" and #tenant > #cap.name and tenant:sub(-#cap.name) == cap.name then
      return tenant:sub(1, -#cap.name - 1)
    end
  end
  return tenant
end

-- Takes jobs of this tenant by `take`, unless it may not run now.  Returns what `take` returns, and a function that charges
-- the tenant: call it with the number of the jobs that may run.
local function take_of_tenant(group, turns, take, tenant, score)
  local queue, home = group.base .. "~" .. tenant, home_of_tenant(group, tenant)
  local paused = group.before .. "paused"
  if redis.pcall("SISMEMBER", paused, queue) == 1 then return leave_turns(group, turns, tenant, score) end
  if home ~= tenant and redis.pcall("SISMEMBER", paused, group.base .. "~" .. home) == 1 then
    redis.pcall("ZADD", turns, turn_text(score + 1), tenant)
    return
  end
  if not is_tenant_of(group, home) then    -- it is another worker's
    redis.pcall("ZADD", turns, turn_text(score + 1), tenant)
    return
  end
  local caps, list = caps_of_tenant(group, tenant, home), KEYS[1] .. ":" .. ARGV[1] .. ":" .. queue
  if caps and not (places_of(caps) and note_places(caps, list)) then
    -- If the cap is the tenant's alone, the settle that frees a place brings the tenant back.
    if not caps.are_shared then return leave_turns(group, turns, tenant, score) end
    redis.pcall("ZADD", turns, turn_text(score + 1), tenant)
    return
  end
  local jobs, length = take(group.before .. "queue:" .. queue, list)
  if jobs and not jobs.err then
    local weight = tonumber(group.weights:match("\n" .. tenant:gsub("%p", "%%%0") .. " (%d+)\n")) or 1
    -- Jobs that wait for their sequences are charged when they run.  A fetch that only moved such jobs costs one turn, too.
    local function charge(run) redis.pcall("ZADD", turns, turn_text(score + math.max(run, 1) / weight), tenant) end
    return jobs, length, charge
  end
  redis.pcall("ZREM", turns, tenant)    -- empty, or no list
end

-- Takes jobs of the tenant whose turn it is by `take`.  Returns what `take` returns, the name of the queue, and the function
-- that charges the tenant; nothing if no tenant has a job.  Drops up to 640 tenants that have none, and passes over up to 64
-- that may not run: these do not come first the next time.
local function take_of_tenants(group, turns, take)
  group.before = turns:sub(1, -#group.base - #"brood:tenants:" - 1)
  local first = redis.pcall("ZRANGE", turns, 0, 15, "WITHSCORES")
  if first.err then return first end
  if first[1] and tonumber(first[2]) < 1 then place_new_tenants(group, turns, first) end
  local pages_passed = 0
  for _ = 1, 40 do
    local page = redis.pcall("ZRANGEBYSCORE", turns, 1, "+inf", "WITHSCORES", "LIMIT", 0, 16)
    if page.err or #page == 0 or pages_passed == 4 then return end
    local queues, names = {}, {}
    for i = 1, #page, 2 do
      names[#names + 1] = page[i]
      queues[#queues + 1] = group.before .. "queue:" .. group.base .. "~" .. page[i]
    end
    if redis.call("EXISTS", queues[1]) == 0 and redis.call("EXISTS", unpack(queues)) == 0 then
      drop_tenants(group, turns, names)
    else
      pages_passed = pages_passed + 1
      for i, tenant in ipairs(names) do
        if i > 1 and redis.call("EXISTS", queues[i]) == 0 then
          drop_tenants(group, turns, {tenant})
        else
          local jobs, length, charge = take_of_tenant(group, turns, take, tenant, tonumber(page[2 * i]))
          if jobs then return jobs, length, group.base .. "~" .. tenant, charge end
        end
      end
    end
  end
end

-- For jobs of a tenant that were settled: if any went back to its queue, or the tenant had left its turn, it takes part
-- again.
local function note_settled_tenant(key, others)
  local before, base, tenant = key:match("^(.-)queue:([^~]+)~(.+)$")
  if not before then return end
  local away, home = before .. "brood:tenants_away:" .. base, tenant:match("^(.+)@[^@]*$")
  if others or redis.pcall("ZSCORE", away, tenant) then enter_tenant(key) end
  if home and redis.pcall("ZSCORE", away, home) then enter_tenant(before .. "queue:" .. base .. "~" .. home) end
end
