-- Begins another push into a batch: until it ends no callback is pushed.
-- KEYS[1] the batch's hash    ARGV[1] token of the push    ARGV[2] who pushes, as in open_batch.lua
-- Returns "OK"; "NONE" if there is no such batch; "CANCELLED"; "ENDED".
-- include: batches/pieces/batches.lua
local B = batches()
if not B.exists(KEYS[1]) then return "NONE" end
local batch = B.read(KEYS[1])
if batch.cancelled > 0 then return "CANCELLED" end
if redis.call("HEXISTS", KEYS[1], "fired:finished") == 1 then return "ENDED" end
if redis.call("HSETNX", KEYS[1], "push:" .. ARGV[1], "0 " .. ARGV[2]) == 1 then redis.call("HINCRBY", KEYS[1], "open", 1) end
return "OK"
