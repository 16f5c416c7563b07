-- Says that a process is alive and how it does, and takes the signals that were sent to it.
-- KEYS[1] "<identity>"    KEYS[2] "<identity>-signals"    KEYS[3] "processes"
-- ARGV[1] identity    ARGV[2] seconds to live    ARGV[3] how many signals to take at most    ARGV[4...] field, value, ...
-- Returns 1 when the process was known, 0 at its first beat or after an outage, and then the signals, oldest first.
local types = {"hash", "list", "set"}
for i, key in ipairs(KEYS) do
  local kind = redis.call("TYPE", key).ok
  if kind ~= types[i] and kind ~= "none" then return redis.error_reply("WRONGTYPE " .. key .. " is a " .. kind) end
end
-- Whatever it finds, EXPIRE is a write that a full Redis serves, and that lets through what follows.
local answer = {redis.call("EXPIRE", KEYS[1], ARGV[2])}
redis.call("SADD", KEYS[3], ARGV[1])
redis.call("HSET", KEYS[1], unpack(ARGV, 4))
redis.call("EXPIRE", KEYS[1], ARGV[2])
for i = 1, tonumber(ARGV[3]) do
  local signal = redis.call("RPOP", KEYS[2])
  if not signal then break end
  answer[#answer + 1] = signal
end
return answer
