-- Moves due jobs to their queues, each if it is still there and its score is as read.
-- KEYS[1] "schedule" or "retry"    KEYS[2] "queues"    KEYS[3...] queues
-- ARGV: for each of these queues the number of its jobs; then, in the order of the queues, the members as
-- read, then their scores as read, then the payloads to push
-- Returns {moved; moved, deleted or rescheduled by another process; stuck: their queue is no list or may not be pushed to}.
-- include: pieces/enter_tenant.lua
local kind = redis.call("TYPE", KEYS[1]).ok
if kind ~= "zset" and kind ~= "none" then return redis.error_reply("WRONGTYPE " .. KEYS[1] .. " is a " .. kind) end
kind = redis.call("TYPE", KEYS[2]).ok
local names_can_be_added = kind == "set" or kind == "none"

local queues = #KEYS - 2
local jobs = (#ARGV - queues) / 3
local scores = redis.call("ZMSCORE", KEYS[1], unpack(ARGV, queues + 1, queues + jobs))

local taken, members, pushed, stuck = {}, {}, {}, 0
local first = 1
for queue = 1, queues do
  local last = first + tonumber(ARGV[queue]) - 1
  local key = KEYS[2 + queue]
  local push = {"LPUSH", key}
  kind = redis.call("TYPE", key).ok
  local is_list = kind == "list" or kind == "none"
  for job = first, last do
    local member = ARGV[queues + job]
    if scores[job] == ARGV[queues + jobs + job] and not taken[member] then
      taken[member] = true
      if is_list then
        members[#members + 1] = member
        push[#push + 1] = ARGV[queues + 2 * jobs + job]
      else
        stuck = stuck + 1    -- one bad queue must not hold up the others
      end
    end
  end
  if #push > 2 then
    -- Changes nothing, but a full Redis accepts what follows, and a missing right to remove shows before anything is added.
    if #pushed == 0 then redis.call("ZREM", KEYS[1], "\0") end
    local reply = redis.pcall(unpack(push))
    if type(reply) == "table" then
      for _ = 3, #push do members[#members] = nil end
      stuck = stuck + #push - 2
    else
      enter_tenant(key)
      pushed[#pushed + 1] = key:sub(#KEYS[2] + 1)    -- "queue:" is as long as "queues", whatever stands before them
    end
  end
  first = last + 1
end

if #members > 0 then
  redis.call("ZREM", KEYS[1], unpack(members))
  if names_can_be_added then redis.pcall("SADD", KEYS[2], unpack(pushed)) end
end
return {#members, jobs - stuck - #members, stuck}
