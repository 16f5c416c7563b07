-- Returns the newest, unbegun jobs of a living worker's list to the head of their queue.
-- KEYS[1] in-flight hash    KEYS[2] list    KEYS[3] its queue
-- ARGV[1] "<slot>.<incarnation>"    ARGV[2] number that the sender expects    ARGV[3] number of oldest jobs that stay
-- After these keys and arguments come the holdings of the incarnation, see pieces/let_go.lua; none if a job stays.
-- Returns the number of jobs that went back; also 0 if the number or the queue has changed: the worker has settled since.
-- include: pieces/let_go.lua
-- include: pieces/enter_tenant.lua
local held = redis.call("TYPE", KEYS[1]).ok == "hash" and redis.call("HGET", KEYS[1], ARGV[1])
if not held then return 0 end
local number, queue = held:match("^(%d+) (.*)$")
if tonumber(number) ~= tonumber(ARGV[2]) or KEYS[1] .. ":" .. ARGV[1] .. ":" .. queue ~= KEYS[2] then return 0 end
for i = 2, 3 do
  local kind = redis.call("TYPE", KEYS[i]).ok
  if kind ~= "list" and kind ~= "none" then return redis.error_reply("WRONGTYPE " .. KEYS[i] .. " is a " .. kind) end
end
local unbegun = redis.call("LLEN", KEYS[2]) - tonumber(ARGV[3])
if unbegun <= 0 then return 0 end
-- Changes nothing, but a full Redis accepts what follows, and a missing right to remove shows before anything is added.
redis.call("LTRIM", KEYS[2], 0, -1)
if let_go then let_go(0) end
local returned = 0
while returned < unbegun do
  -- Newest first onto the head, so that the oldest of them is the next to run.
  local jobs = redis.call("LRANGE", KEYS[2], 0, math.min(unbegun - returned, 100) - 1)
  redis.call("RPUSH", KEYS[3], unpack(jobs))
  redis.call("LTRIM", KEYS[2], #jobs, -1)
  returned = returned + #jobs
end
enter_tenant(KEYS[3])
return returned
