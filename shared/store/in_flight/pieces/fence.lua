-- Checks that the incarnation is still the sender's before taking something for it: KEYS[1] is the in-flight hash, ARGV[1] the
-- field.  A call that arrives after the recovery or the next settle takes nothing.
local function is_senders(number)
  local held = redis.call("HGET", KEYS[1], ARGV[1])
  return held and held:match("^%d+ ") == number .. " "
end
-- Notes all holdings of the incarnation, including those taken now.  Its recovery releases exactly these.
local function note_holdings(note) redis.call("HSET", KEYS[1], ARGV[1] .. " holds", note) end
