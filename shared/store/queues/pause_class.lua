-- Pauses a class of jobs, or gives its pause another reason and end.
-- KEYS[1] "brood:paused_classes"    KEYS[2] "brood:class_pauses"
-- ARGV[1] the class    ARGV[2] seconds for which it is paused; "0": until it is unpaused    ARGV[3] the reason
-- Returns 1; 0 when it was paused already.
local function must_be(wanted, key)
  local kind = redis.call("TYPE", key).ok
  return kind ~= wanted and kind ~= "none" and redis.error_reply("WRONGTYPE " .. key .. " is a " .. kind)
end
local refusal = must_be("set", KEYS[1]) or must_be("hash", KEYS[2])
if refusal then return refusal end
local now = redis.call("TIME")[1]
local was_paused = redis.call("SISMEMBER", KEYS[1], ARGV[1]) == 1
local since = was_paused and (redis.call("HGET", KEYS[2], ARGV[1]) or ""):match("^[1-9]%d* ") or now .. " "
local till = ARGV[2] == "0" and "0" or string.format("%d", tonumber(now) + tonumber(ARGV[2]))
redis.call("HSET", KEYS[2], ARGV[1], since .. till .. " " .. ARGV[3])    -- fails before all else when Redis is full
redis.call("SREM", KEYS[1], ARGV[1])    -- supervisors watch only the set, and only a change of it notifies them
redis.call("SADD", KEYS[1], ARGV[1])
return was_paused and 0 or 1
