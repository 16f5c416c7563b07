-- Gives jobs that wait for a place of a cap back to their queue: those that waited longest are the next to run.  The queue
-- that they wait in is forgotten once it is empty and no worker has a job of it.
-- KEYS[1] the queue that they wait in    KEYS[2] their queue    KEYS[3] "brood:set_aside"    KEYS[4] "queues"
-- KEYS[5] the set of that cap
-- ARGV[1] the name of KEYS[1]    ARGV[2] number of jobs at most
-- Returns the number of jobs that went back.
-- include: pieces/enter_tenant.lua
for i = 1, 2 do
  local kind = redis.call("TYPE", KEYS[i]).ok
  if kind ~= "list" and kind ~= "none" then return redis.error_reply("WRONGTYPE " .. KEYS[i] .. " is a " .. kind) end
end
-- Changes nothing, but a full Redis accepts what follows, and a missing right to remove shows before anything is added.
redis.call("LTRIM", KEYS[1], 0, -1)
local returned, most = 0, tonumber(ARGV[2])
while returned < most do
  local jobs = redis.call("LRANGE", KEYS[1], 0, math.min(most - returned, 100) - 1)
  if #jobs == 0 then break end
  redis.call("RPUSH", KEYS[2], unpack(jobs))
  redis.call("LTRIM", KEYS[1], #jobs, -1)
  returned = returned + #jobs
end
-- A worker or its recovery may give back a job that was fetched from there.
local function may_come_back()
  local lists = redis.pcall("SMEMBERS", KEYS[5])
  if lists.err then return true end
  for _, list in ipairs(lists) do
    if list:sub(-#ARGV[1] - 1) == ":" .. ARGV[1] and redis.call("TYPE", list).ok == "list" then return true end
  end
  return false
end
if redis.call("EXISTS", KEYS[1]) == 0 and not may_come_back() then
  redis.pcall("SREM", KEYS[3], ARGV[1])
  redis.pcall("SREM", KEYS[4], ARGV[1])
end
if returned > 0 then enter_tenant(KEYS[2]) end
return returned
