-- Resets a limit: nothing of its period is used, and its counts are 0.  Slots that are held stay held, since their holders
-- go on.
-- KEYS[1] "brood:limits"    KEYS[2] its definition    KEYS[3] its used amount
-- Returns the number of held slots; -1 if there is no such limit.
-- include: pieces/living_holders.lua
if redis.call("TYPE", KEYS[2]).ok ~= "hash" then return -1 end
redis.call("HDEL", KEYS[2], "taken", "waited", "waited_ms", "over", "reclaimed")
if redis.call("HGET", KEYS[2], "kind") ~= "concurrent" then
  redis.call("DEL", KEYS[3])
  return 0
end
if redis.call("TYPE", KEYS[3]).ok ~= "zset" then return 0 end
local living, gone = holders(KEYS[3])
for i = 1, #gone do redis.call("ZREM", KEYS[3], gone[i]) end
return #living
