-- Tries every command of the scripts that move jobs, and every key that holds jobs, with calls that change nothing or are
-- undone at once.  Does not try scripts that only count or show: they report a refusal themselves, and no job waits for them.
-- KEYS: none, since one forbidden key would refuse the whole script
-- ARGV[1] "1": locks of the gem sidekiq-unique-jobs are served    ARGV[2] an unused name for keys
-- ARGV[3...5] "retry", "schedule", "dead"    ARGV[6] "brood:processes"    ARGV[7] "uniquejobs:digests"
-- ARGV[8] an unused lock beside it    ARGV[9] "processes"    ARGV[10] "queues"    ARGV[11...14] "<identity>", "<identity>:work",
-- "<identity>:workers" and "<identity>-signals"    ARGV[15] "paused"    ARGV[16] the key of an iteration that does not exist
-- ARGV[17] "brood:paused_classes"    ARGV[18] "queue:"    ARGV[19...] queues by their keys
-- Returns all failures, for any reason: each command with its key, and its error.
local failed = {}
local function try(command, ...)
  local reply = redis.pcall(command, ...)
  local error = type(reply) == "table" and reply.err
  if not error then return true end
  failed[#failed + 1] = command .. " " .. (... or "")
  failed[#failed + 1] = error
  return false
end

local own, other = ARGV[2], ARGV[2] .. ":2"
if try("DEL", own) and try("DEL", other) then    -- frees memory; without this right the keys made here would stay
  try("LPUSH", own, 1)
  try("RPUSH", own, 1)
  for _, call in ipairs({{"LSET", 0, 1}, {"LLEN"}, {"LINDEX", 0}, {"LRANGE", 0, -1}, {"LTRIM", 0, -1}}) do
    try(call[1], own, unpack(call, 2))
  end
  try("LMOVE", own, other, "LEFT", "LEFT")
  for _, call in ipairs({{"RPOP"}, {"LREM", 0, 1}, {"DEL"}, {"HSET", "a", 1}, {"HSETNX", "a", 1}, {"HGET", "a"}, {"HMGET", "a"},
                         {"HEXISTS", "a"}, {"HSCAN", "0"}, {"HKEYS"}, {"HVALS"}, {"HGETALL"}, {"HINCRBY", "n", 1}, {"HDEL", "a"}, {"DEL"},
                         {"SET", 1, "EX", 60}, {"GET"}, {"GETRANGE", 0, 0}, {"SETRANGE", 0, "1"},
                         {"BITFIELD", "GET", "u2", 0}, {"EXPIRE", 60}, {"PEXPIRE", 60000}, {"PTTL"}, {"INCR"}, {"TYPE"}, {"EXISTS"},
                         {"DEL"}, {"ZADD", 1, "a"}, {"ZSCORE", "a"}, {"ZMSCORE", "a"}, {"ZCARD"}, {"ZCOUNT", 0, 0}, {"ZRANGE", 0, 0},
                         {"ZRANGEBYSCORE", 0, 0}, {"ZREM", "a"}, {"ZREMRANGEBYRANK", 1, 0}, {"ZREMRANGEBYSCORE", 1, 0}, {"DEL"},
                         {"SADD", "a"}, {"SCARD"}, {"SISMEMBER", "a"}, {"SMEMBERS"}, {"SREM", "a"}, {"UNLINK"}}) do
    try(call[1], own, unpack(call, 2))
  end
  redis.pcall("DEL", own, other)
end
try("TIME")

for i = 3, 5 do
  try("ZADD", ARGV[i], "XX", 0, "\0")
  try("ZREM", ARGV[i], "\0")
end
try("HDEL", ARGV[6], "~")
try("SREM", ARGV[9], "\0")
try("SREM", ARGV[10], "\0")
for i = 11, 13 do try("HDEL", ARGV[i], "~") end
try("LTRIM", ARGV[14], 0, -1)
try("SMEMBERS", ARGV[15])
try("HDEL", ARGV[16], "~")
try("SMEMBERS", ARGV[17])
if ARGV[1] == "1" then
  try("ZREM", ARGV[7], "\0")
  for _, call in ipairs({{"TYPE"}, {"HDEL", "~"}, {"EXISTS"}, {"DEL"}}) do try(call[1], ARGV[8], unpack(call, 2)) end
end
for i = 18, #ARGV do try("LTRIM", ARGV[i], 0, -1) end
return failed
