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

// The tenants of a base take turns.  The sorted set `brood:tenants:images` has the tenants of `images` that may have
// jobs.  The score of a tenant grows by one for each job that is fetched, or by less if the tenant has more weight.  A
// fetch takes from the tenant with the lowest score (pieces/take_tenants.lua), and drops tenants before it that have no
// job.  So a tenant that runs empty and soon gets jobs again has kept its score.
//
//  - A push, and each script that returns a job to its queue, adds the tenant with score 0 if it is not there
//    (pieces/enter_tenant.lua).  The next fetch gives it the lowest score that another tenant has, so it is among the
//    next.
//  - One supervisor finds the tenants that other programs push to: see supervisor/queues/tenant_watch.hpp.  It looks at
//    all tenants, so it finds each that was not added.
//  - A tenant that may not run now, because it is paused or its cap is full, is moved with its score to the sorted set
//    `brood:tenants_away:images`.  It gets that score back when it takes part again.

// For each entry of a capsule's draw that stands for tenants, which tenants it takes.
using ServedTenants = std::map<std::string, TenantRules, std::less<>>;

// The key to look at for jobs of an entry of a draw: the queue's list, or the turns of its tenants.
RedisKey key_of_jobs(std::string_view entry);

// Describes to the script of a settle_and_fetch the tenants among the queues that it asks, behind all other keys and
// arguments.  Adds nothing if there are none.  A cap of all tenants of a base together is added by add_caps() instead.
void add_tenants(ScriptCall& settle_and_fetch, const ServedTenants& served, const std::vector<CapSettings>* caps,
                 std::span<const std::string> queues_asked);

// Adds the tenants among these queues to the turns of their bases, after jobs were pushed.  Returns no command if none
// of the queues is a tenant's.  Ignore a refusal.
std::vector<Command> enter_tenants(const std::vector<std::string>& queues);
bool is_entrance_of_tenants(const Command& command);

}  // namespace brood
