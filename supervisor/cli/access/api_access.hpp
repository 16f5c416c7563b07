#pragma once

#include <brood/api.hpp>

#include "supervisor/cli/access/redis_access.hpp"

namespace brood {

// The data API on the shards that `access` names, with the configured limits of the dead set.  Says on standard error
// which shard is away.  Throws what RedisAccess::shards() throws.
Api open_api(const RedisAccess& access);

}  // namespace brood
