-- Whether a key is of that type, or not there; and the answer that says that it is of another.
local function is(key, wanted)
  local kind = redis.call("TYPE", key).ok
  return kind == wanted or kind == "none"
end
local function refuse(key) return redis.error_reply("WRONGTYPE " .. key .. " is a " .. redis.call("TYPE", key).ok) end
