#pragma once

#include <string>
#include <vector>

#include "shared/store/in_flight/lock_list.hpp"
#include "supervisor/cli/access/shard_connections.hpp"

namespace brood {

// The locks of unique jobs with their holders, at most `most` of each shard.
std::vector<UniqueLock> list_locks_with_jobs(ShardConnections& shards,
                                             std::size_t most = std::numeric_limits<std::size_t>::max());

// For programs: one JSON object.
std::string lock_json(const UniqueLock& lock);

}  // namespace brood
