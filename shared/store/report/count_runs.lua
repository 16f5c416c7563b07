-- Adds to Sidekiq's metrics, and to the classes' usage today.
-- KEYS[1] minute of Sidekiq 7    KEYS[2] ten minutes of Sidekiq 8    KEYS[3] minute of Sidekiq 8    KEYS[4] usage of the day
--   and for each class    histogram of Sidekiq 7    histogram of Sidekiq 8
-- ARGV[1] seconds that minutes and histograms live    ARGV[2] ten minutes    ARGV[3] usage
--   and for each class    name    processed    failed    crashed    ms, or "" if none succeeded    cpu_us    wall_us
--   peak_rss_kb    number of buckets, and for each    its index    its count
-- Returns the number of keys that could not be added to.

-- Changes nothing, but a full Redis refuses it: then nothing is added, and all may be sent again.
redis.call("SETRANGE", KEYS[5], 0, "")

local refused = {}
local function add(...)
  local added = redis.pcall(...)
  if type(added) == "table" and added.err then refused[select(2, ...)] = true end
end
local function add_to_hash(key, field, count)
  if count ~= "" and (count ~= "0" or string.sub(field, -3) == "|ms") then add("HINCRBY", key, field, count) end
end

local at, key = 4, 5
while at <= #ARGV do
  local class, processed, failed, crashed, ms = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  for i = 1, 3 do
    add_to_hash(KEYS[i], class .. "|ms", ms)
    add_to_hash(KEYS[i], class .. "|p", processed)
    add_to_hash(KEYS[i], class .. "|f", failed)
  end

  add_to_hash(KEYS[4], class .. "|runs", processed)
  add_to_hash(KEYS[4], class .. "|failed", failed)
  add_to_hash(KEYS[4], class .. "|crashed", crashed)
  add_to_hash(KEYS[4], class .. "|cpu_us", ARGV[at + 5])
  add_to_hash(KEYS[4], class .. "|wall_us", ARGV[at + 6])
  local peak = redis.pcall("HGET", KEYS[4], class .. "|peak_rss_kb")
  if type(peak) ~= "table" and tonumber(ARGV[at + 7]) > (tonumber(peak or "") or 0) then
    add("HSET", KEYS[4], class .. "|peak_rss_kb", ARGV[at + 7])
  end

  local buckets = tonumber(ARGV[at + 8])
  at = at + 9
  if buckets > 0 then
    local increments = {}
    for bucket = 1, buckets do
      table.insert(increments, "INCRBY")
      table.insert(increments, "u16")
      table.insert(increments, "#" .. ARGV[at])
      table.insert(increments, ARGV[at + 1])
      at = at + 2
    end
    for i = key, key + 1 do
      add("BITFIELD", KEYS[i], "OVERFLOW", "SAT", unpack(increments))
      redis.call("EXPIRE", KEYS[i], ARGV[1])
    end
  end
  key = key + 2
end

for i = 1, 4 do redis.call("EXPIRE", KEYS[i], ARGV[i == 2 and 2 or i == 4 and 3 or 1]) end
local count = 0
for _ in pairs(refused) do count = count + 1 end
return count
