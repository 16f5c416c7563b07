-- Reads a page of the sequences in which jobs wait although the hash of holders does not name them.
-- KEYS[1] "brood:sequences"    ARGV[1] cursor, "0" at first    ARGV[2] approximate number of keys to search
-- Returns the next cursor, "0" behind the last page, and their names.
local prefix = KEYS[1]:sub(1, -2) .. ":"    -- "brood:sequence:"
local page = redis.call("SCAN", ARGV[1], "MATCH", prefix .. "*", "COUNT", ARGV[2])
local found = {page[1]}
for _, key in ipairs(page[2]) do
  local name = key:sub(#prefix + 1)
  if redis.pcall("HEXISTS", KEYS[1], name) == 0 and redis.call("TYPE", key).ok == "list" then found[#found + 1] = name end
end
return found
