-- Makes a batch that is being pushed, unless this very call has made it before.
-- KEYS[1] its hash    KEYS[2] "brood:batches"    KEYS[3] the hash of its parent, if it has one
-- KEYS[4] the hash of the batch of the job or callback that makes it, if it has a parent and such a maker
-- ARGV[1] bid    ARGV[2] token of the push    ARGV[3] who pushes: "<host> <pid> <epoch seconds>"    ARGV[4] created, in ms
-- ARGV[5] description    ARGV[6] bid of the parent, "" for none    ARGV[7] how deep batches may be nested
-- ARGV[8] the job that makes it: its index in its batch, or the jid of a callback
-- ARGV[9...] fields and values of the callbacks
-- Returns "OK"; "EXISTS" if another batch has this bid; "NO PARENT", "PARENT ENDED", "PARENT CANCELLED", "TOO DEEP".
-- include: batches/pieces/batches.lua
local B = batches()
local push = "push:" .. ARGV[2]
if redis.call("EXISTS", KEYS[1]) == 1 then return redis.call("HGET", KEYS[1], "made_by") == ARGV[2] and "OK" or "EXISTS" end
local depth, parent = 1, nil
if ARGV[6] ~= "" then
  if not B.exists(KEYS[3]) then return "NO PARENT" end
  parent = B.read(KEYS[3])
  if parent.cancelled > 0 then return "PARENT CANCELLED" end
  if redis.call("HEXISTS", KEYS[3], "closed:finished") == 1 then return "PARENT ENDED" end
  depth = 1 + (tonumber(redis.call("HGET", KEYS[3], "depth") or nil) or 1)
  if depth > tonumber(ARGV[7]) then return "TOO DEEP" end
end
redis.call("HSET", KEYS[1], "made_by", ARGV[2], "open", 1, push, "0 " .. ARGV[3], "created_at", ARGV[4], "description", ARGV[5],
           "depth", depth, "total", 0)
redis.call("SETRANGE", KEYS[1] .. ":states", 0, "\0")    -- the key must exist to expire with the others
for i = 9, #ARGV, 2 do redis.call("HSET", KEYS[1], ARGV[i], ARGV[i + 1]) end
if parent then
  redis.call("HSET", KEYS[1], "parent", ARGV[6])
  redis.call("HINCRBY", KEYS[3], "kids", 1)
  redis.call("SADD", KEYS[3] .. ":children", ARGV[1])
  redis.call("PEXPIRE", KEYS[3] .. ":children", math.max(redis.call("PTTL", KEYS[3]), B.pending_for * 1000))
  if KEYS[4] and B.exists(KEYS[4]) then
    redis.call("HSET", KEYS[4] .. ":opening", ARGV[1], ARGV[8])
    redis.call("HINCRBY", KEYS[4], "opening", 1)
    redis.call("HSET", KEYS[1], "opened_in", KEYS[4]:match("brood:batch:([%w_-]+)$"))
    redis.call("PEXPIRE", KEYS[4] .. ":opening", math.max(redis.call("PTTL", KEYS[4]), B.pending_for * 1000))
  end
end
-- Forgets expired batches, and keeps the parents at least as long as this child.
redis.call("ZREMRANGEBYSCORE", KEYS[2], "-inf", B.now_s)
B.expire(B.read(KEYS[1]), B.pending_for)
local above = parent
while above and B.exists(above.key) do
  if redis.call("PTTL", above.key) < B.pending_for * 1000 then B.expire(above, B.pending_for) end
  above = above.parent and B.exists(above.parent) and B.read(above.parent) or nil
end
return "OK"
