#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <brood/api.hpp>

namespace brood {

// All queues by name, with one for all tenants of a base, "images~*".
std::vector<QueueSummary> queues_with_tenants_together(Api& api);

// The queues of the tenants that an entry such as "images~*" stands for, the fullest first.
std::vector<QueueSummary> tenants_among(const std::vector<QueueSummary>& queues, std::string_view entry);

}  // namespace brood
