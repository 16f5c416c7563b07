-- Takes a lock for an incarnation that is about to begin a job.  Sent again it changes nothing.
-- KEYS[1] in-flight hash    KEYS[2] the lock
-- ARGV[1] "<slot>.<incarnation>"    ARGV[2] number of its last applied settle    ARGV[3] holder to write into the lock
-- ARGV[4] the note of all that it holds, including this lock
-- Returns "TAKEN"; "HELD" by another; "NO LOCK" if a key of another type lies in its place; or "FENCED" if the incarnation has
-- settled since or was recovered: then nothing was taken.
-- include: pieces/fence.lua
if not is_senders(ARGV[2]) then return "FENCED" end
local kind = redis.call("TYPE", KEYS[2]).ok
if kind ~= "string" and kind ~= "none" then return "NO LOCK" end
local holder = redis.call("GET", KEYS[2])
if holder and holder ~= ARGV[3] then return "HELD" end
redis.call("HDEL", KEYS[1], "~")    -- changes nothing: a full Redis lets the rest through
note_holdings(ARGV[4])
redis.call("SET", KEYS[2], ARGV[3])
return "TAKEN"
