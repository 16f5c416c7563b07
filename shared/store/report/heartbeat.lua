-- Notes that a process is alive and its state, and takes the signals sent to it.
-- KEYS[1] "<identity>"    KEYS[2] "<identity>-signals"    KEYS[3] "processes"
-- KEYS[4] in-flight hash of the identity    KEYS[5] "brood:processes"
-- ARGV[1] identity    ARGV[2] seconds to live    ARGV[3] most signals to take    ARGV[4] the identity's record
-- ARGV[5] the tokens that this process may have left in KEYS[1], or "*" for any    ARGV[6...] field, value, ...
-- Returns -1 if another process has left a token there since: then nothing has changed.
-- Else returns 1 if the process was known, 0 at its first beat or after an outage; then 1 if its record was missing in KEYS[5]
-- and is there again, else 0; then the error of a refused write beside the beat itself, "" for none; and then the signals,
-- oldest first.
-- Others recognise only by KEYS[1] that we are alive: a wrong type there is an error, but a wrong type elsewhere stops no
-- heartbeat.
local complaint = ""
local function try(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) ~= "table" or not reply.err then return reply end
  complaint = reply.err .. " (" .. key .. ")"
end
local token = redis.call("HGET", KEYS[1], "brood_token")
if token and ARGV[5] ~= "*" and not string.find(ARGV[5], token, 1, true) then return {-1} end
-- A full Redis serves EXPIRE, and then accepts the writes after it.
local known = redis.call("EXPIRE", KEYS[1], ARGV[2])
local unlisted, signals = 0, {}
try("HSET", KEYS[1], unpack(ARGV, 6))
if complaint ~= "" then return redis.error_reply(complaint) end
if known == 0 then redis.call("EXPIRE", KEYS[1], ARGV[2]) end
try("SADD", KEYS[3], ARGV[1])
-- A process that owns lists is listed, so that others can adopt its jobs.  One that has left owns none, so a late heartbeat
-- does not list it again.  If KEYS[5] has a wrong type, the registration of each worker reports it.
if redis.call("EXISTS", KEYS[4]) == 1 and redis.pcall("HGET", KEYS[5], ARGV[1]) ~= ARGV[4] then
  if redis.pcall("HSET", KEYS[5], ARGV[1], ARGV[4]) == 1 then unlisted = 1 end
end
for i = 1, tonumber(ARGV[3]) do
  local signal = try("RPOP", KEYS[2])
  if not signal then break end
  signals[#signals + 1] = signal
end
return {known, unlisted, complaint, unpack(signals)}
