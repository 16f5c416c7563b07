-- Takes an identity off the list if it owns nothing.
-- KEYS[1] in-flight hash of the identity    KEYS[2] "brood:processes"
-- ARGV[1] identity
-- Returns 1 if it was listed and no longer is, else 0.
if redis.call("EXISTS", KEYS[1]) == 1 then return 0 end    -- it is alive again, and has registered a worker since
return redis.call("HDEL", KEYS[2], ARGV[1])
