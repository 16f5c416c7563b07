-- Removes the rule of a periodic job that was added at run time.  From now on no tick of it is claimed.
-- KEYS[1] the rules    KEYS[2] the names of all    KEYS[3] the job's state    KEYS[4] its history
-- ARGV[1] its name    ARGV[2] the rule as read; "": any rule
-- ARGV[3] seconds for which a name counts as served after a supervisor has served it
-- Returns {1 removed; 0 there is none, and where a configuration or a library has the name, else ""}.
local function must_be(wanted, key)
  local kind = redis.call("TYPE", key).ok
  return kind ~= wanted and kind ~= "none" and redis.error_reply("WRONGTYPE " .. key .. " is a " .. kind)
end
local refusal = must_be("hash", KEYS[1]) or must_be("zset", KEYS[2]) or must_be("hash", KEYS[3])
if refusal then return refusal end
local source, place = unpack(redis.call("HMGET", KEYS[3], "source", "place"))
local rule = redis.call("HGET", KEYS[1], ARGV[1])
if not rule or (ARGV[2] ~= "" and rule ~= ARGV[2]) then
  local served = tonumber(redis.call("ZSCORE", KEYS[2], ARGV[1]) or "") or 0
  local has_it = source ~= "redis" and tonumber(redis.call("TIME")[1]) - served < tonumber(ARGV[3])
  return {0, has_it and (place or "?") or ""}
end
redis.call("HDEL", KEYS[1], ARGV[1])
if source == "redis" then
  redis.call("DEL", KEYS[3], KEYS[4])
  redis.call("ZREM", KEYS[2], ARGV[1])
end
return {1, ""}
