-- Lists the in-flight lists that hold a place of a cap.
-- KEYS[1] the set of the cap
-- Changes nothing.
if redis.call("TYPE", KEYS[1]).ok ~= "set" then return {} end
local living = {}
for _, list in ipairs(redis.call("SMEMBERS", KEYS[1])) do
  if redis.call("TYPE", list).ok == "list" then living[#living + 1] = list end
end
return living
