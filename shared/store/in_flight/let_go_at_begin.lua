-- Lets go of what a job held until its beginning, or of what an incarnation took for a job that it does not begin.
-- KEYS[1] in-flight hash
-- ARGV[1] "<slot>.<incarnation>"    ARGV[2] number of its last applied settle
-- After these come the holdings that end, see pieces/let_go.lua.
-- Returns 1; 0 if the incarnation has settled since or was recovered: then nothing was let go.
-- include: pieces/fence.lua
-- include: pieces/let_go.lua
if not is_senders(ARGV[2]) then return 0 end
if let_go then let_go(0) end
return 1
