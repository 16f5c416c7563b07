-- Forgets a batch.  Its jobs stay where they are and are no longer counted; steps that wait
-- for others go with it.  Its parent no longer waits for it.
-- KEYS[1] its hash    KEYS[2] "brood:batches"
-- Returns 1; 0 if there is none.
-- include: batches/pieces/batches.lua
local B = batches()
if not B.exists(KEYS[1]) then return 0 end
local batch, heard = B.read(KEYS[1]), false
for _, event in ipairs({"complete", "success", "finished"}) do heard = B.close(batch, event) or heard end
if batch.parent then redis.call("SREM", batch.parent .. ":children", batch.bid) end
B.report_deleted_steps(batch)
for _, part in ipairs({"", ":states", ":children", ":opening", ":steps", ":results"}) do redis.call("UNLINK", KEYS[1] .. part) end
redis.call("ZREM", KEYS[2], batch.bid)
if heard then B.settle(batch.parent) end
return 1
