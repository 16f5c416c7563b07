-- Adds to Sidekiq's counters.  A counter that is not a number stays as it is, and the others are counted all the same: if
-- the script failed half-way, the sender would add the same counts again.
-- KEYS[1] "stat:processed"    KEYS[2] the same of today    KEYS[3] "stat:failed"    KEYS[4] the same of today
-- ARGV[1] processed    ARGV[2] failed    ARGV[3] seconds that a day's counters live
-- Returns the number of counters that could not be added to.
redis.call("EXPIRE", KEYS[2], ARGV[3])    -- a full Redis serves this write, and then accepts what follows
local refused = 0
for i, key in ipairs(KEYS) do
  local added = redis.pcall("INCRBY", key, i <= 2 and ARGV[1] or ARGV[2])
  if type(added) == "table" and added.err then refused = refused + 1 end
end
redis.call("EXPIRE", KEYS[2], ARGV[3])
redis.call("EXPIRE", KEYS[4], ARGV[3])
return refused
