-- Finds a job.  Scans all keys in one step: for a small Redis, such as a test's.
-- KEYS[1] "schedule"    KEYS[2] "retry"    KEYS[3] "dead"    KEYS[4] "brood:quarantined"
-- KEYS[5...] patterns of queues, of jobs that wait for their sequences, and of in-flight lists
-- ARGV[1] what the text of the job has in it
-- Returns {"waits"} when it is in a queue or in flight, {set, its text, its score}, or {"nowhere"}.
for i = 5, #KEYS do
  for _, key in ipairs(redis.call("KEYS", KEYS[i])) do
    if redis.call("TYPE", key).ok == "list" then
      for _, text in ipairs(redis.call("LRANGE", key, 0, -1)) do
        if string.find(text, ARGV[1], 1, true) then return {"waits"} end
      end
    end
  end
end
for number, set in ipairs({"schedule", "retry", "dead", "quarantine"}) do
  local entries = redis.call("ZRANGE", KEYS[number], 0, -1, "WITHSCORES")
  for i = 1, #entries, 2 do
    if string.find(entries[i], ARGV[1], 1, true) then return {set, entries[i], entries[i + 1]} end
  end
end
return {"nowhere"}
