-- Counts the end of jobs or of a callback in their batch.  For jobs that no script of brood settled or deleted: those that
-- Ruby's Sidekiq ran, and those that another tool deleted.
-- KEYS[1] the batch's hash    ARGV[1] "job" or "callback"    ARGV[2] indices, or the jid of a callback
-- ARGV[3] "done", "failed", or "dead" and the seconds for which the batch is then kept
-- Returns 1; 0 if there is no such batch.
-- include: batches/pieces/batches.lua
local B = batches()
if not B.exists(KEYS[1]) then return 0 end
if ARGV[1] == "job" then B.end_jobs(KEYS[1], ARGV[2], ARGV[3]) else B.end_callback(KEYS[1], ARGV[2], ARGV[3]) end
return 1
