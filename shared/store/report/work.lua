-- Rewrites the table of running jobs that Sidekiq's tools read, taking each payload from its worker's list.
-- KEYS[1] "<identity>:work"    KEYS[2] "<identity>:workers"    KEYS[3] in-flight hash    KEYS[4...] list of each busy worker
-- ARGV[1] seconds to live    ARGV[2...] for each worker: "<slot>.<incarnation>", number that the sender expects, number of
-- entries older than the running one, thread id, queue as JSON, start in seconds, payload to show as a JSON string ("":
-- unchanged), and further members (",..." or "")
-- Returns the number of workers shown; a worker whose number has changed is between two jobs, and is left out.
redis.call("DEL", KEYS[1], KEYS[2])    -- first a write that frees memory, so a full Redis accepts the rest
local fields_can_be_read = redis.call("TYPE", KEYS[3]).ok == "hash"
local shown = 0
for i = 4, #KEYS do
  local at = 2 + 8 * (i - 4)
  local held = fields_can_be_read and redis.call("HGET", KEYS[3], ARGV[at])
  if held and tonumber(held:match("^%d+")) == tonumber(ARGV[at + 1]) and redis.call("TYPE", KEYS[i]).ok == "list" then
    local text = ARGV[at + 6]
    if text == "" then
      -- The payload is encoded as one string, never decoded: numbers in it stay as written.
      local payload = redis.call("LINDEX", KEYS[i], -1 - tonumber(ARGV[at + 2]))
      text = payload and cjson.encode(payload)
    elseif redis.call("LLEN", KEYS[i]) <= tonumber(ARGV[at + 2]) then
      text = nil
    end
    if text then
      local entry = '{"queue":' .. ARGV[at + 4] .. ',"payload":' .. text .. ',"run_at":' .. ARGV[at + 5] .. ARGV[at + 7] .. "}"
      redis.call("HSET", KEYS[1], ARGV[at + 3], entry)
      redis.call("HSET", KEYS[2], ARGV[at + 3], entry)
      shown = shown + 1
    end
  end
end
redis.call("EXPIRE", KEYS[1], ARGV[1])
redis.call("EXPIRE", KEYS[2], ARGV[1])
return shown
