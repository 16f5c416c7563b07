-- Finds the sequences whose holders are in flight.
-- KEYS[1] "brood:processes"    ARGV[1] "brood:inflight:"
-- ARGV[2...] for each sequence: its name, and the jid of its holder ("": any job of the sequence)
-- Returns the names of the sequences found.
-- include: pieces/sequences.lua
local prefix = KEYS[1]:sub(1, -#"brood:processes" - 1)
local read, wanted, found = sequences(prefix).read, {}, {}
for i = 2, #ARGV, 2 do wanted[ARGV[i]] = ARGV[i + 1] end
for _, identity in ipairs(redis.call("HKEYS", KEYS[1])) do
  local hash = prefix .. ARGV[1] .. identity
  local fields = redis.pcall("HGETALL", hash)
  for i = 1, #fields, 2 do
    local queue = fields[i + 1]:match("^%d+ (.+)$")
    local held = queue and redis.pcall("LRANGE", hash .. ":" .. fields[i] .. ":" .. queue, 0, 999) or {}
    for _, payload in ipairs(held) do
      local name, jid = read(payload)
      if name and (wanted[name] == jid or wanted[name] == "") then found[name] = true end
    end
  end
end
local names = {}
for name in pairs(found) do names[#names + 1] = name end
return names
