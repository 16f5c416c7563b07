-- Counts a job that another program is about to push.
-- KEYS[1] the batch's hash
-- Returns its index; -1: there is no such batch, -2: it was cancelled, -3: it has ended.
-- include: batches/pieces/batches.lua
local B = batches()
if not B.exists(KEYS[1]) then return -1 end
local batch = B.read(KEYS[1])
if batch.cancelled > 0 then return -2 end
if batch.open <= 0 and redis.call("HEXISTS", KEYS[1], "closed:finished") == 1 then return -3 end
redis.call("HSET", KEYS[1], "total", batch.total + 1)
return batch.total
