-- Removes a job from a queue.
-- KEYS[1] queue    ARGV[1] the job
-- After these keys and arguments come the holdings of the job, see pieces/let_go.lua.
-- Returns 1; 0 if it is not there.
-- include: pieces/let_go.lua
if redis.call("LREM", KEYS[1], 1, ARGV[1]) == 0 then return 0 end
if let_go then let_go(1) end
return 1
