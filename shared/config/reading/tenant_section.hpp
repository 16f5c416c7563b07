#pragma once

#include <vector>

#include "shared/config/cap_settings.hpp"
#include "shared/config/queue_order.hpp"
#include "shared/config/reading/config_section.hpp"
#include "shared/config/tenants.hpp"

namespace brood {

// Reads [tenants.BASE].
TenantWeights read_tenant_weights(const ConfigSection& root);

// A tenant that a capsule lists by its name is fetched as any queue is.  So a cap of each tenant holds for it by an
// entry of its own.
std::vector<CapSettings> with_caps_of_listed_tenants(std::vector<CapSettings> caps, const QueueOrder& queues);

}  // namespace brood
