-- Ends the pause of a class, and removes its record.
-- KEYS[1] "brood:paused_classes"    KEYS[2] "brood:class_pauses"    ARGV[1] the class
-- Returns 1; 0 when it was not paused.
local unpaused = redis.call("SREM", KEYS[1], ARGV[1])
redis.pcall("HDEL", KEYS[2], ARGV[1])    -- a key of another type holds up no class
return unpaused
