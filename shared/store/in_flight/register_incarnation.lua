-- Announces an incarnation, and with it the process that owns it.  Sent again it changes nothing.
-- KEYS[1] in-flight hash of the identity    KEYS[2] "brood:processes"
-- ARGV[1] "<slot>.<incarnation>"    ARGV[2] identity    ARGV[3] the identity's record
-- Returns the field's value: "0 " for a new incarnation (number 0, no queue yet).
for _, key in ipairs(KEYS) do
  local kind = redis.call("TYPE", key).ok
  if kind ~= "hash" and kind ~= "none" then return redis.error_reply("WRONGTYPE " .. key .. " is a " .. kind) end
end
redis.call("HDEL", KEYS[1], "~")    -- no such field: a full Redis accepts writes after one that may free memory
-- Writes only if it differs: each write of this key notifies all supervisors.
if redis.call("HGET", KEYS[2], ARGV[2]) ~= ARGV[3] then redis.call("HSET", KEYS[2], ARGV[2], ARGV[3]) end
redis.call("HSETNX", KEYS[1], ARGV[1], "0 ")
return redis.call("HGET", KEYS[1], ARGV[1])
