-- Shows a limit.
-- KEYS[1] "brood:limits"    KEYS[2] its definition    KEYS[3] its used amount
-- Returns {} if there is no such limit, else {kind, amount, interval in ms, used now, {taken, waited, waited in ms, over,
-- reclaimed}, {its holders}}.  Changes nothing.
-- include: pieces/living_holders.lua
-- include: pieces/used_of_period.lua
if redis.call("TYPE", KEYS[2]).ok ~= "hash" then return {} end
local known = redis.call("HMGET", KEYS[2], "kind", "amount", "interval", "taken", "waited", "waited_ms", "over", "reclaimed")
local kind, amount, interval = known[1], tonumber(known[2] or ""), tonumber(known[3] or "")
if not kind or not amount or not interval then return {} end
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local found, used, living = redis.call("TYPE", KEYS[3]).ok, 0, {}
if kind == "concurrent" then
  if found == "zset" then living = holders(KEYS[3]) end
  used = #living
elseif kind == "window" then
  if found == "zset" then used = used_in_window(KEYS[3], interval, now) end
elseif found == "hash" then
  used = used_in_hash(kind, KEYS[3], amount, interval, now)
end
local counts = {}
for i = 4, 8 do counts[#counts + 1] = known[i] or "0" end
return {kind, known[2], known[3], string.format("%.17g", used), counts, living}
