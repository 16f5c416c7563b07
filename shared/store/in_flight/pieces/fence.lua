-- Who takes something for an incarnation asks first whether this is its own: KEYS[1] is the in-flight hash, ARGV[1] the field.
-- What comes late, after the recovery or the next settle, takes nothing.
local function is_senders(number)
  local held = redis.call("HGET", KEYS[1], ARGV[1])
  return held and held:match("^%d+ ") == number .. " "
end
-- All that it holds, what is taken now included.  Its recovery lets go of what is noted here, and of nothing else.
local function note_holdings(note) redis.call("HSET", KEYS[1], ARGV[1] .. " holds", note) end
