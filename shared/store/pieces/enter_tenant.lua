-- A tenant whose queue has got jobs takes part in the turns: see tenants/tenants.hpp.  `key` is that of any queue.
local function enter_tenant(key)
  if not key:find("~", 1, true) then return end
  local before, base, tenant = key:match("^(.-)queue:([^~]+)~(.+)$")
  if before then redis.pcall("ZADD", before .. "brood:tenants:" .. base, "NX", 0, tenant) end
end
