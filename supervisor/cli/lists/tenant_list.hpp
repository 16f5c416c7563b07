#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <brood/api.hpp>

namespace brood {

// The same queues with one for all tenants of a base, "images~*", by name.
std::vector<QueueSummary> with_tenants_together(const std::vector<QueueSummary>& queues);

// The queues of the tenants that an entry such as "images~*" stands for, the fullest first.
std::vector<QueueSummary> tenants_among(const std::vector<QueueSummary>& queues, std::string_view entry);

}  // namespace brood
