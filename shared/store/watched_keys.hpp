#pragma once

#include <optional>
#include <string_view>

#include "shared/redis/keyspace.hpp"

namespace brood {

// The keys whose changes a supervisor subscribes to: it needs their names only for this.
struct WatchedKeys {
  RedisKey schedule, paused, paused_classes, queues, queue_names, owners, periodic_rules;
  RedisKey signals;  // to this process
};
WatchedKeys watched_keys(std::string_view identity);

// The queue that a key belongs to: its list of jobs, or for "images~*" the turns of these tenants.  nullopt for any
// other key.
std::optional<std::string> queue_of(std::string_view key);

}  // namespace brood
