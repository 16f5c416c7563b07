-- Takes the lease of an order to the whole fleet, keeps it, or gives it up.
-- KEYS[1] "brood:fleet_lease"
-- ARGV[1] the holder, as others see it    ARGV[2] milliseconds for which it holds; 0: gives it up
-- Returns "" when the caller holds it, or has given it up; else its holder.
local holder = redis.call("GET", KEYS[1])
if holder and holder ~= ARGV[1] then return holder end
if ARGV[2] == "0" then
  redis.call("DEL", KEYS[1])
else
  redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
end
return ""
