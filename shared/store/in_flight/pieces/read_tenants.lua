-- Takes what the sender says of tenants off the end of ARGV: see add_tenants() in tenants/tenants.hpp.  ARGV end with "~" if there is
-- anything; before that how many of the queues asked are tenants of a base, and for each of these: which names are taken, how many
-- patterns that are (none: all names), which are skipped, how many patterns that are, their caps, how many of these there are, the
-- weights, the base, and the place of the queue among those asked.  A cap has its key at the end of KEYS, and is of "each" tenant,
-- of the one whose name "is" the next argument, of that one "among" other queues, or of those whose name "ends" so; and last the most.
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
