-- Takes the names of tenants without jobs off the list of queues, and some time later removes the last that is known of
-- them.  The score of a tenant whose name is off the list is the negative time at which it was taken off.
-- KEYS[1] "brood:tenants_idle"    KEYS[2] "queues"    KEYS[3] "brood:set_aside"    KEYS[4...] their queues
-- ARGV[1] seconds since 1970    ARGV[2] seconds off the list after which they are forgotten    ARGV[3...] their names
-- Returns the number of tenants taken off; the number that came back with jobs.
-- include: pieces/enter_tenant.lua
local now, gone, back = tonumber(ARGV[1]), 0, 0
for i = 4, #KEYS do
  local key, name = KEYS[i], ARGV[i - 1]
  local since = tonumber(redis.call("ZSCORE", KEYS[1], name) or now)
  if redis.call("EXISTS", key) == 1 then
    redis.call("ZREM", KEYS[1], name)
    redis.call("SADD", KEYS[2], name)
    enter_tenant(key)
    if since < 0 then back = back + 1 end
  elseif since >= 0 then
    redis.call("ZADD", KEYS[1], -now, name)
    redis.call("SREM", KEYS[2], name)
    redis.pcall("SREM", KEYS[3], name)
    gone = gone + 1
  elseif now + since >= tonumber(ARGV[2]) then
    redis.call("ZREM", KEYS[1], name)
    local before, base, tenant = key:match("^(.-)queue:([^~]+)~(.+)$")
    if before then
      redis.pcall("ZREM", before .. "brood:tenants:" .. base, tenant)
      redis.pcall("ZREM", before .. "brood:tenants_away:" .. base, tenant)
    end
  end
end
return {gone, back}
