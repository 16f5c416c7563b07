-- Adds tenants whose queues have jobs to the turns of their bases: see tenants.hpp.
-- KEYS the queues
-- Returns the number of queues that have jobs.
-- include: pieces/enter_tenant.lua
redis.pcall("LTRIM", KEYS[1], 0, -1)    -- changes nothing: a full Redis lets through what follows
local filled = 0
for _, key in ipairs(KEYS) do
  if redis.call("EXISTS", key) == 1 then
    enter_tenant(key)
    filled = filled + 1
  end
end
return filled
