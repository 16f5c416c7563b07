-- Passes a sequence on whose holder exists no more.
-- KEYS[1] "brood:sequences"    ARGV[1] name of the sequence    ARGV[2] its field, as it was when its holder was looked for
-- Returns 1; 0 when the field has changed, or when Redis refuses it.
-- include: pieces/sequences.lua
redis.call("HDEL", KEYS[1], "")    -- no sequence has this name: a full Redis lets the rest through
if redis.call("HGET", KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
return sequences(KEYS[1]:sub(1, -#"brood:sequences" - 1)).pass_on(ARGV[1]) and 1 or 0
