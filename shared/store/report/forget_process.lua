-- Takes an identity that owns nothing off the list.
-- KEYS[1] in-flight hash of the identity    KEYS[2] "brood:processes"
-- ARGV[1] identity
-- Returns 1 when it was listed and is no longer, else 0.
if redis.call("EXISTS", KEYS[1]) == 1 then return 0 end    -- it lives again, and has registered a worker since
return redis.call("HDEL", KEYS[2], ARGV[1])
