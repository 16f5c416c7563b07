-- Takes the description of tenants off the end of ARGV: see add_tenants() in tenants/tenants.hpp.  ARGV end with "~" if
-- there is one.  Before that: how many of the queues asked stand for tenants of a base.  For each of these, in this order:
-- the patterns of names that it takes, and how many they are (0: it takes all names); the patterns of names that it skips,
-- and how many; its caps, and how many; the weights; the base; and the position of the queue among those asked.
-- Each cap has its key at the end of KEYS.  In ARGV it has: whose it is, a name ("" for "each"), and how many workers it
-- lets in.  It is of "each" tenant, of the one whose name "is" that name, of that one "among" other queues, or of all whose
-- name "ends" so.
local tenants = {}
if ARGV[#ARGV] == "~" then
  table.remove(ARGV)
  local function take_list()
    local list = {}
    for i = 1, tonumber(table.remove(ARGV)) do list[i] = table.remove(ARGV) end
    return list
  end
  for _ = 1, tonumber(table.remove(ARGV)) do
    local place = tonumber(table.remove(ARGV))
    local group = {base = table.remove(ARGV), weights = table.remove(ARGV)}
    group.caps = {}
    for i = 1, tonumber(table.remove(ARGV)) do
      group.caps[i] = {key = table.remove(KEYS), most = tonumber(table.remove(ARGV)), name = table.remove(ARGV), of = table.remove(ARGV)}
    end
    group.skipped = take_list()
    group.taken = take_list()
    tenants[place] = group
  end
end
