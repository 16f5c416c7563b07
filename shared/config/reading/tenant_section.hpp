#pragma once

#include <vector>

#include "shared/config/cap_settings.hpp"
#include "shared/config/queue_order.hpp"
#include "shared/config/reading/config_section.hpp"
#include "shared/config/tenants.hpp"

namespace brood {

// Reads [tenants.BASE].
TenantWeights read_tenant_weights(const ConfigSection& root);

// Adds an entry to the caps for each tenant that a capsule lists by its name: such a tenant is fetched as any other
// queue, so a cap of each tenant needs its own entry for it.
std::vector<CapSettings> with_caps_of_listed_tenants(std::vector<CapSettings> caps, const QueueOrder& queues);

}  // namespace brood
