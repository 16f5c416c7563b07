-- Adds steps to a flow whose push has not returned, unless this slice was added before.  None of them is pushed yet.
-- KEYS[1] the batch's hash    KEYS[2] its steps
-- ARGV[1] token of the push    ARGV[2] number of the slice    ARGV[3] who pushes    ARGV[4] the index of the first step
-- ARGV[5...] for each step: its name, the job to push (in the form of read_kept() in pieces/batches.lua), the number of
-- steps that it waits for, the indices of those that wait for it, its fate if a step that it waits for dies ("fail",
-- "run", "skip"), and the seconds for which its report is kept, with its jid as JSON ("": it has no report)
-- Returns "OK"; or "NONE" or "CANCELLED": nothing was added.
-- include: batches/pieces/batches.lua
local B = batches()
if not B.exists(KEYS[1]) then return "NONE" end
local push = "push:" .. ARGV[1]
local known = redis.call("HGET", KEYS[1], push)
if known and tonumber(known:match("^%d+")) >= tonumber(ARGV[2]) then return "OK" end
if B.read(KEYS[1]).cancelled > 0 then return "CANCELLED" end
redis.call("HSET", KEYS[1], push, ARGV[2] .. " " .. ARGV[3])
local of = tonumber(ARGV[4])
for i = 5, #ARGV, 6 do
  redis.call("HSET", KEYS[2], "name:" .. of, ARGV[i], "queued:" .. of, ARGV[i + 1], "before:" .. of, ARGV[i + 2],
             "after:" .. of, ARGV[i + 3], "if_failed:" .. of, ARGV[i + 4])
  redis.call("HSET", KEYS[2], "jid:" .. of, ARGV[i + 1]:match("^%S+ %S+ (%S+)"))
  if ARGV[i + 5] ~= "" then redis.call("HSET", KEYS[2], "report:" .. of, ARGV[i + 5]) end
  of = of + 1
end
redis.call("HSET", KEYS[1], "total", of, "steps", of)
redis.call("PEXPIRE", KEYS[2], math.max(redis.call("PTTL", KEYS[1]), 1000))
return "OK"
