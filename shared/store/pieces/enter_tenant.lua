-- Adds a tenant whose queue has got jobs to the turns: see tenants/tenants.hpp.  `key` is that of any queue; nothing happens
-- if it is no tenant's.
local function enter_tenant(key)
  if not key:find("~", 1, true) then return end
  local before, base, tenant = key:match("^(.-)queue:([^~]+)~(.+)$")
  if before then redis.pcall("ZADD", before .. "brood:tenants:" .. base, "NX", 0, tenant) end
end
