-- Ends the trial of a job that does not begin after all: another of its class may try.
-- KEYS[1] "brood:quarantine:probe:<class>"    ARGV[1] jid
-- Returns 1, or 0 if another job or none is on trial.  Sent again it does nothing.
if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call("DEL", KEYS[1])
