-- Counts the end of one job in its batch, or of a callback.  For Ruby's Sidekiq, whose jobs no script of ours settles; and for
-- jobs that were deleted where no script saw it.
-- KEYS[1] the batch's hash    ARGV[1] "job" or "callback"    ARGV[2] indices, or the jid of a callback
-- ARGV[3] "done", "failed", or "dead" and for how many seconds the batch is kept then
-- Returns 1; 0: there is no such batch.
-- include: batches/pieces/batches.lua
local B = batches()
if not B.exists(KEYS[1]) then return 0 end
if ARGV[1] == "job" then B.end_jobs(KEYS[1], ARGV[2], ARGV[3]) else B.end_callback(KEYS[1], ARGV[2], ARGV[3]) end
return 1
