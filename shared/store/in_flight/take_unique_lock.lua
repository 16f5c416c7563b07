-- Takes the lock of a unique job that was pushed while another held it, just before it begins.  Sent again it changes nothing.
-- From then on the job holds the lock as if it had been pushed with it.
-- KEYS[1] in-flight hash    KEYS[2] the lock
-- ARGV[1] "<slot>.<incarnation>"    ARGV[2] number of its last applied settle    ARGV[3] jid of the job
-- ARGV[4] milliseconds that the lock lives at most, "0": as long as the job
-- Returns "TAKEN", also if the job has it already; "HELD" by another; "NO LOCK" if a key of another type lies in its place; or
-- "FENCED" if the incarnation has settled since or was recovered: then nothing was taken.
-- include: pieces/fence.lua
if not is_senders(ARGV[2]) then return "FENCED" end
local kind = redis.call("TYPE", KEYS[2]).ok
if kind ~= "string" and kind ~= "none" then return "NO LOCK" end
local holder = redis.call("GET", KEYS[2])
if holder then return holder == ARGV[3] and "TAKEN" or "HELD" end
redis.call("HDEL", KEYS[1], "~")    -- changes nothing: a full Redis lets the rest through
if ARGV[4] == "0" then redis.call("SET", KEYS[2], ARGV[3]) else redis.call("SET", KEYS[2], ARGV[3], "PX", ARGV[4]) end
return "TAKEN"
