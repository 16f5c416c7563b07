-- Counts the jobs in all queues and in flight.  Looks through all keys, in one step: for a small Redis, as a test's is.
-- KEYS: patterns of queues, of jobs that wait for their sequences, and of in-flight lists
-- Returns their number.
local waiting = 0
for _, pattern in ipairs(KEYS) do
  for _, key in ipairs(redis.call("KEYS", pattern)) do
    if redis.call("TYPE", key).ok == "list" then waiting = waiting + redis.call("LLEN", key) end
  end
end
return waiting
