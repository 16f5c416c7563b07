-- Says that a process is alive and how it does, and takes the signals that were sent to it.
-- KEYS[1] "<identity>"    KEYS[2] "<identity>-signals"    KEYS[3] "processes"
-- ARGV[1] identity    ARGV[2] seconds to live    ARGV[3] how many signals to take at most    ARGV[4...] field, value, ...
-- Returns 1 when the process was known, 0 at its first beat or after an outage, and then the signals, oldest first.
-- A key of the wrong type ends it where it stands: what is written by then is true, and the hash expires by itself.
local function refused(key, reply)
  if type(reply) == "table" and reply.err then return redis.error_reply(reply.err .. " (" .. key .. ")") end
end
-- Whatever it finds, EXPIRE is a write that a full Redis serves, and that lets through what follows.
local known = redis.call("EXPIRE", KEYS[1], ARGV[2])
local answer = {known}
local refusal = refused(KEYS[1], redis.pcall("HSET", KEYS[1], unpack(ARGV, 4)))
if refusal then return refusal end
if known == 0 then redis.call("EXPIRE", KEYS[1], ARGV[2]) end
refusal = refused(KEYS[3], redis.pcall("SADD", KEYS[3], ARGV[1]))
if refusal then return refusal end
for i = 1, tonumber(ARGV[3]) do
  local signal = redis.pcall("RPOP", KEYS[2])
  refusal = refused(KEYS[2], signal)
  if refusal then return refusal end
  if not signal then break end
  answer[#answer + 1] = signal
end
return answer
