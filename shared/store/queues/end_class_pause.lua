-- Ends the pause of a class whose end has come.
-- KEYS[1] "brood:paused_classes"    KEYS[2] "brood:class_pauses"
-- ARGV[1] the class    ARGV[2] the record of its pause, as read    ARGV[3] its end, in epoch seconds; "0": none
-- Returns 1 if the pause has ended by this, else 0.
local function must_be(wanted, key)
  local kind = redis.call("TYPE", key).ok
  return kind ~= wanted and kind ~= "none" and redis.error_reply("WRONGTYPE " .. key .. " is a " .. kind)
end
local refusal = must_be("set", KEYS[1]) or must_be("hash", KEYS[2])
if refusal then return refusal end
if redis.call("HGET", KEYS[2], ARGV[1]) ~= ARGV[2] then return 0 end    -- it was paused anew, or unpaused
local is_paused = redis.call("SISMEMBER", KEYS[1], ARGV[1]) == 1
local has_come = ARGV[3] ~= "0" and tonumber(redis.call("TIME")[1]) >= tonumber(ARGV[3])
if is_paused and not has_come then return 0 end
redis.call("HDEL", KEYS[2], ARGV[1])
return redis.call("SREM", KEYS[1], ARGV[1])
