-- Asks whether a job that is about to begin may run as the next one of its sequence.  Sent again it changes nothing.
-- KEYS[1] in-flight hash    KEYS[2] "brood:sequences"
-- ARGV[1] "<slot>.<incarnation>"    ARGV[2] number of its last applied settle    ARGV[3] name of the sequence
-- ARGV[4] jid of the job
-- Returns "TAKEN": it holds the sequence; "HELD" by another; "NO LOCK" where keys of other types lie in its place; or
-- "FENCED": the incarnation has settled since, or was recovered.
-- include: pieces/fence.lua
-- include: pieces/sequences.lua
if not is_senders(ARGV[2]) then return "FENCED" end
redis.call("HDEL", KEYS[1], "~")    -- changes nothing: a full Redis lets the rest through
local may_run = sequences(KEYS[2]:sub(1, -#"brood:sequences" - 1)).enter(ARGV[3], ARGV[4])
if may_run == nil then return "NO LOCK" end
return may_run and "TAKEN" or "HELD"
