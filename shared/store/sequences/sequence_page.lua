-- Reads a page of the sequences that have jobs.
-- KEYS[1] "brood:sequences"    ARGV[1] cursor, "0" at first    ARGV[2] approximate number of sequences
-- Returns the next cursor, "0" behind the last page, and for each its name, its field and its number of waiting jobs.
if redis.call("TYPE", KEYS[1]).ok ~= "hash" then return {"0"} end
local page = redis.call("HSCAN", KEYS[1], ARGV[1], "COUNT", ARGV[2])
local found, waiting = {page[1]}, KEYS[1]:sub(1, -2) .. ":"    -- "brood:sequence:"
for i = 1, #page[2], 2 do
  local length = redis.pcall("LLEN", waiting .. page[2][i])
  found[#found + 1] = page[2][i]
  found[#found + 1] = page[2][i + 1]
  found[#found + 1] = type(length) == "number" and length or 0
end
return found
