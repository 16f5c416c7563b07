-- Takes the lock of a unique job that was pushed while another held it, just before it begins.  Sent again it changes nothing.
-- From then on the job holds the lock as if it had been pushed with it.
-- KEYS[1] in-flight hash    KEYS[2] the lock    KEYS[3] "brood:sequences", if the job is in one
-- ARGV[1] "<slot>.<incarnation>"    ARGV[2] number of its last applied settle    ARGV[3] jid of the job
-- ARGV[4] milliseconds that the lock lives at most, "0": as long as the job    ARGV[5] name of the sequence, if any
-- Returns "TAKEN", also if the job has it already; "HELD" if another job has it; "BEHIND" if a job has it that waits for
-- this sequence; "NO LOCK" if a key of another type lies in its place; or "FENCED" if the incarnation has settled since or
-- was recovered: then nothing was taken.
-- include: pieces/fence.lua
-- include: pieces/sequences.lua
if not is_senders(ARGV[2]) then return "FENCED" end
local kind = redis.call("TYPE", KEYS[2]).ok
if kind ~= "string" and kind ~= "none" then return "NO LOCK" end
local holder = redis.call("GET", KEYS[2])
if holder == ARGV[3] then return "TAKEN" end
if holder and not KEYS[3] then return "HELD" end
if holder then
  local order = sequences(KEYS[3]:sub(1, -#"brood:sequences" - 1))
  return order.find_waiting(ARGV[5], holder) and "BEHIND" or "HELD"
end
redis.call("HDEL", KEYS[1], "~")    -- changes nothing: a full Redis lets the rest through
if ARGV[4] == "0" then redis.call("SET", KEYS[2], ARGV[3]) else redis.call("SET", KEYS[2], ARGV[3], "PX", ARGV[4]) end
return "TAKEN"
