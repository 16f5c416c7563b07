-- Notes that a push into a batch has returned.
-- KEYS[1] the batch's hash    ARGV[1] token of the push    ARGV[2] "1": open_batch or reopen_batch began it
-- Returns "OK"; "NONE" if there is no such batch; or "CANCELLED".
-- include: batches/pieces/batches.lua
local B = batches()
if not B.exists(KEYS[1]) then return "NONE" end
if redis.call("HDEL", KEYS[1], "push:" .. ARGV[1]) == 1 and ARGV[2] == "1" then
  local batch = B.read(KEYS[1])
  redis.call("HSET", KEYS[1], "open", math.max(batch.open - 1, 0))
  local context = redis.call("HGET", KEYS[1], "opened_in")
  if context then
    local key = batch.prefix .. "brood:batch:" .. context
    if redis.call("HDEL", key .. ":opening", batch.bid) == 1 then redis.call("HINCRBY", key, "opening", -1) end
  end
  B.settle(KEYS[1])
end
return B.read(KEYS[1]).cancelled > 0 and "CANCELLED" or "OK"
