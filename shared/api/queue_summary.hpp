#pragma once

#include <string>

#include <brood/api.hpp>

#include "shared/store/queues/queue_sizes.hpp"

namespace brood {

QueueSummary summary_of(std::string name, const QueueGlance& glance);

}  // namespace brood
