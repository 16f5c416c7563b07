#pragma once

#include <string>
#include <vector>

#include <brood/api.hpp>

#include "shared/api/push/client_connection.hpp"
#include "shared/store/queues/queue_sizes.hpp"
#include "shared/store/scan.hpp"

namespace brood {

// A point in time from seconds since the epoch; the epoch itself for what no clock can hold.
Time lenient_time(double epoch_seconds);

// All names that `pages` reads, sorted.  Throws RedisError when the key is no set.
std::vector<std::string> all_names(ClientConnection& redis, const NamePages& pages);

QueueSummary summary_of(std::string name, const QueueGlance& glance);

}  // namespace brood
