-- Gives a list that no living incarnation owns back to the head of its queue.
-- KEYS[1] in-flight hash    KEYS[2] list    KEYS[3] its queue
-- ARGV[1] "<slot>.<incarnation>"
-- After these keys and arguments come the holdings of the incarnation, see pieces/let_go.lua.
-- Returns the number of jobs that went back; 0 when the incarnation is registered after all, or there is no such list.
-- include: pieces/let_go.lua
-- include: pieces/enter_tenant.lua
local kind = redis.call("TYPE", KEYS[1]).ok
if kind == "hash" and redis.call("HEXISTS", KEYS[1], ARGV[1]) == 1 then return 0 end
if redis.call("TYPE", KEYS[2]).ok ~= "list" then return 0 end
kind = redis.call("TYPE", KEYS[3]).ok
if kind ~= "list" and kind ~= "none" then return redis.error_reply("WRONGTYPE " .. KEYS[3] .. " is a " .. kind) end
-- Changes nothing, but a full Redis accepts what follows, and a missing right to remove shows before anything is added.
redis.call("LTRIM", KEYS[2], 0, -1)
if let_go then let_go(0) end
enter_tenant(KEYS[3])
local returned = 0
while true do
  local jobs = redis.call("LRANGE", KEYS[2], 0, 99)
  if #jobs == 0 then return returned end
  redis.call("RPUSH", KEYS[3], unpack(jobs))
  redis.call("LTRIM", KEYS[2], #jobs, -1)
  returned = returned + #jobs
end
