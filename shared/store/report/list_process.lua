-- Lists an identity that has something in flight but is missing in the list, so that others watch its heartbeat.
-- KEYS[1] in-flight hash of the identity    KEYS[2] "brood:processes"
-- ARGV[1] identity    ARGV[2] a record of it
-- Returns 1 if it was not listed and is now, else 0.
if redis.call("TYPE", KEYS[1]).ok ~= "hash" then return 0 end
redis.call("HDEL", KEYS[2], "~")    -- no such field: a full Redis accepts writes after one that may free memory
return redis.call("HSETNX", KEYS[2], ARGV[1], ARGV[2])
