-- Cancels a batch: its unbegun jobs are skipped, and only `finished` fires.
-- KEYS[1] its hash
-- Returns "OK", also if it was cancelled before; "NONE" if there is no such batch; "ENDED" if it has ended.
-- include: batches/pieces/batches.lua
local B = batches()
if not B.exists(KEYS[1]) then return "NONE" end
if redis.call("HEXISTS", KEYS[1], "closed:finished") == 1 and B.read(KEYS[1]).cancelled == 0 then return "ENDED" end
B.cancel(KEYS[1])
return "OK"
