-- Pushes those steps of a flow that wait for no other step.  A step that was pushed before is not pushed again.
-- KEYS[1] the batch's hash    KEYS[2] its steps    ARGV: their indices
-- Returns "OK"; or "NONE" or "CANCELLED": nothing was pushed.
-- include: batches/pieces/batches.lua
local B = batches()
if not B.exists(KEYS[1]) then return "NONE" end
local batch = B.read(KEYS[1])
if batch.cancelled > 0 then return "CANCELLED" end
for _, of in ipairs(ARGV) do
  local queued = redis.call("HGET", KEYS[2], "queued:" .. of)
  if queued then B.release(batch, of, B.read_kept(queued)) end
end
redis.call("HSET", KEYS[1], "dead", batch.dead)
if batch.has_death then redis.call("HSET", KEYS[1], "died", 1) end
return "OK"
