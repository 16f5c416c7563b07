-- Passes a sequence on whose holder no longer exists.
-- KEYS[1] "brood:sequences"    ARGV[1] name of the sequence    ARGV[2] its field as read; "": it had none
-- Returns {1}; {0} when the field has changed, or when there is nothing to pass on; {-1, key, refusal} when Redis refuses
-- the write to that key.
-- include: pieces/sequences.lua
redis.call("HDEL", KEYS[1], "")    -- no sequence has this name: a full Redis lets the rest through
if (redis.call("HGET", KEYS[1], ARGV[1]) or "") ~= ARGV[2] then return {0} end
if ARGV[2] == "" and redis.call("EXISTS", KEYS[1]:sub(1, -2) .. ":" .. ARGV[1]) == 0 then return {0} end
local passed, key, refusal = sequences(KEYS[1]:sub(1, -#"brood:sequences" - 1)).pass_on(ARGV[1])
if passed then return {1} end
return key and {-1, key, refusal} or {0}
