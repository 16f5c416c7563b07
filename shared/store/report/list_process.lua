-- Lists an identity that has something in flight but is not listed, so that others watch its heartbeat.
-- KEYS[1] in-flight hash of the identity    KEYS[2] "brood:processes"
-- ARGV[1] identity    ARGV[2] a record of it
-- Returns 1 when it was not listed and is now, else 0.
if redis.call("TYPE", KEYS[1]).ok ~= "hash" then return 0 end
redis.call("HDEL", KEYS[2], "~")    -- no identity has this name: a full Redis lets through what follows a write that frees memory
return redis.call("HSETNX", KEYS[2], ARGV[1], ARGV[2])
