-- Reads the rules of periodic jobs that were added at run time.
-- KEYS[1] the rules    ARGV[1] most rules to read    ARGV[2] most bytes of a rule
-- Returns {number of all rules, name, rule, name, rule, ...}.  A rule that is too long is "".
local kind = redis.call("TYPE", KEYS[1]).ok
if kind == "none" then return {0} end
if kind ~= "hash" then return redis.error_reply("WRONGTYPE " .. KEYS[1] .. " is a " .. kind) end
local names = redis.call("HKEYS", KEYS[1])
table.sort(names)
local answer = {#names}
for i = 1, math.min(#names, tonumber(ARGV[1])) do
  local rule = redis.call("HGET", KEYS[1], names[i])
  answer[#answer + 1] = names[i]
  answer[#answer + 1] = #rule > tonumber(ARGV[2]) and "" or rule
end
return answer
