#pragma once

#include <brood/api.hpp>

#include "supervisor/cli/redis_access.hpp"

namespace brood {

// The data API on the shards that `access` means, with the configured limits of the dead set.  One that is away is said
// on standard error.  Throws what RedisAccess::shards() throws.
Api open_api(const RedisAccess& access);

}  // namespace brood
