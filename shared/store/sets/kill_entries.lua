-- Moves entries of a sorted set to the dead set, each if it is still there as it was read.  Trims the dead set by at most a
-- thousand entries, so that a set far beyond its limit does not block Redis.
-- KEYS[1] set    KEYS[2] "dead"
-- ARGV[1] now in seconds    ARGV[2] oldest score to keep in "dead"    ARGV[3] size of "dead"
-- ARGV[4...] the members, then their scores, as read; or none, to trim alone
-- After these keys and arguments come the holdings of these jobs, see pieces/let_go.lua.
-- Returns the number of moved entries, and the number still to be trimmed.
-- include: pieces/let_go.lua
for _, key in ipairs(KEYS) do
  local kind = redis.call("TYPE", key).ok
  if kind ~= "zset" and kind ~= "none" then return redis.error_reply("WRONGTYPE " .. key .. " is a " .. kind) end
end
local entries = (#ARGV - 3) / 2
local members, places, adds = {}, {}, {}
if entries > 0 then
  local scores = redis.call("ZMSCORE", KEYS[1], unpack(ARGV, 4, 3 + entries))
  for i = 1, entries do
    if scores[i] == ARGV[3 + entries + i] then
      members[#members + 1] = ARGV[3 + i]
      places[#places + 1] = i
      adds[#adds + 1] = ARGV[1]
      adds[#adds + 1] = ARGV[3 + i]
    end
  end
end
if #members > 0 then
  -- Changes nothing, but a full Redis accepts what follows, and a missing right to remove shows before anything is added.
  redis.call("ZREM", KEYS[1], "\0")
  redis.call("ZREMRANGEBYRANK", KEYS[2], 1, 0)
  redis.call("ZADD", KEYS[2], unpack(adds))
  if KEYS[1] ~= KEYS[2] then redis.call("ZREM", KEYS[1], unpack(members)) end    -- the dead stay, with a new score
  for _, i in ipairs(let_go and places or {}) do let_go(i) end
end
-- Entries to trim have the lowest scores.  One less than the size is kept, as in Sidekiq.
local too_old = redis.call("ZCOUNT", KEYS[2], "-inf", ARGV[2])
local too_many = redis.call("ZCARD", KEYS[2]) - ARGV[3] + 1
local left = math.max(too_old, too_many, 0)
local trimmed = math.min(left, 1000)
if trimmed > 0 then redis.call("ZREMRANGEBYRANK", KEYS[2], 0, trimmed - 1) end
return {#members, left - trimmed}
