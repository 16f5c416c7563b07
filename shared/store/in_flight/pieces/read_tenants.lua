-- Removes the description of tenants from the end of ARGV: see add_tenants() in tenants/tenants.hpp.  ARGV end with "~" if
-- there is one.  Before that is the number of the queues asked that stand for tenants of a base.  Before that, for each of
-- these queues, in this order: the patterns of names that it takes, and their number (0: it takes all names); the patterns
-- of names that it skips, and their number; its caps, and their number; the weights; the base; and the position of the queue
-- among those asked.
-- Each cap has its key at the end of KEYS.  In ARGV it has its kind, a name ("" for "each"), and the number of workers that
-- it lets in.  The kinds: the cap is of "each" tenant, of the tenant whose name "is" that name, of that tenant "among" other
-- queues, or of all tenants whose name "ends" with it.
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
