#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shared/config/cap_settings.hpp"
#include "shared/config/tenants.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/keyspace.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/script.hpp"

namespace brood {

// The tenants of a base take turns.  Its zset `brood:tenants:images` has those that may have jobs, each with a score
// that grows by one for each job that was fetched, or less for a tenant of more weight.  A fetch takes from the one
// with the lowest score (pieces/take_tenants.lua), and drops those that come first without a job.  So an emptied tenant
// that is filled again soon has the score that it had.
//
//  - A push, and whatever returns a job to its queue, adds the tenant with score 0 if it is not there
//    (pieces/enter_tenant.lua).  The next fetch gives it the lowest score that another has: it is next but for those.
//  - What others push is found by one supervisor: see supervisor/queues/tenant_watch.hpp.  It looks at all tenants, so
//  it
//    finds also what was not added.
//  - A tenant that may not run now, since it is paused or its cap is full, leaves with its score for the zset
//    `brood:tenants_away:images`.  It has that score again when it is back.

// Of each entry of a capsule's draw that stands for tenants, which of them it takes.
using ServedTenants = std::map<std::string, TenantRules, std::less<>>;

// The key under which the jobs of an entry of a draw are: the queue's, or the turns of its tenants.
RedisKey key_of_jobs(std::string_view entry);

// Puts behind all keys and arguments of a settle_and_fetch what its script must know of the tenants among the queues
// that it asks; nothing if there are none.  A cap of all tenants of a base together is none of these: see add_caps().
void add_tenants(ScriptCall& settle_and_fetch, const ServedTenants& served, const std::vector<CapSettings>* caps,
                 std::span<const std::string> queues_asked);

// Adds the tenants among these queues to the turns of their bases, after jobs were pushed; none: no command.  A refusal
// does not matter.
std::vector<Command> enter_tenants(const std::vector<std::string>& queues);
bool is_entrance_of_tenants(const Command& command);

}  // namespace brood
