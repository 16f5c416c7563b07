-- Finds the step of a flow that has this jid and waits for others.
-- KEYS[1] the flow's steps    ARGV[1] jid    ARGV[2] how many steps a flow has at most
-- Returns {its job, how many steps it waits for}; {}: none.
for first = 0, ARGV[2] - 1, 250 do
  local fields = {}
  for of = first, math.min(first + 250, ARGV[2]) - 1 do fields[#fields + 1] = string.format("queued:%d", of) end
  for i, kept in ipairs(redis.call("HMGET", KEYS[1], unpack(fields))) do
    local jid, payload = (kept or ""):match("^%S+ %S+ (%S+) (.*)$")
    if jid == ARGV[1] then
      local of = string.format("%d", first + i - 1)
      if redis.call("HEXISTS", KEYS[1], "failed:" .. of) == 1 then return {} end    -- it is in the dead set
      return {payload .. "}", redis.call("HGET", KEYS[1], "before:" .. of) or "0"}
    end
  end
end
return {}
