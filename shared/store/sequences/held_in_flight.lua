-- Which of some jobs lie in lists in flight.
-- KEYS[1] "brood:processes"    ARGV[1] "brood:inflight:"    ARGV[2...] jids
-- Returns those that do.
-- include: pieces/sequences.lua
local prefix = KEYS[1]:sub(1, -#"brood:processes" - 1)
local found = {}
local function look(payload)
  for i = 2, #ARGV do
    if payload:find(ARGV[i], 1, true) then found[ARGV[i]] = true end
  end
end
for _, identity in ipairs(redis.call("HKEYS", KEYS[1])) do
  local hash = prefix .. ARGV[1] .. identity
  local fields = redis.pcall("HGETALL", hash)
  for i = 1, #fields, 2 do
    local queue = fields[i + 1]:match("^%d+ (.+)$")
    local held = queue and redis.pcall("LRANGE", hash .. ":" .. fields[i] .. ":" .. queue, 0, 999) or {}
    for _, payload in ipairs(held) do
      if names_sequence(payload) then look(payload) end
    end
  end
end
local jids = {}
for jid in pairs(found) do jids[#jids + 1] = jid end
return jids
