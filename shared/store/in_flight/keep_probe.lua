-- Prolongs the trial of a job that still runs.  Other jobs of its class wait for it.
-- KEYS[1] "brood:quarantine:probe:<class>"    ARGV[1] jid    ARGV[2] seconds to live from now on
-- Returns 1, or 0 if another job or none is on trial.
if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call("EXPIRE", KEYS[1], ARGV[2])
