-- Finds the queues that hold jobs.
-- KEYS: queues, or the turns of tenants, whose length is the number of tenants that may have jobs
-- Returns {{position, length, ... of each that holds jobs}, {positions of those that are no lists}}, counted from 1.
local filled, no_lists = {}, {}
for i, key in ipairs(KEYS) do
  local length = redis.pcall(key:find("brood:tenants:", 1, true) and "ZCARD" or "LLEN", key)
  if type(length) == "table" then
    -- Other errors (of an access list, say) concern all queues.
    if not length.err:find("WRONGTYPE", 1, true) then return redis.error_reply(length.err) end
    no_lists[#no_lists + 1] = i
  elseif length > 0 then
    filled[#filled + 1] = i
    filled[#filled + 1] = length
  end
end
return {filled, no_lists}
