#pragma once

#include <string>
#include <vector>

#include "shared/store/in_flight/lock_list.hpp"
#include "supervisor/cli/access/shard_connections.hpp"

namespace brood {

// All locks of unique jobs, with the jobs that hold them.  Of each shard not more than `most`.
std::vector<UniqueLock> list_locks_with_jobs(ShardConnections& shards,
                                             std::size_t most = std::numeric_limits<std::size_t>::max());

// For programs: one JSON object.
std::string lock_json(const UniqueLock& lock);

}  // namespace brood
