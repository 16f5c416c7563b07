#pragma once

#include <brood/api.hpp>

#include "supervisor/cli/access/redis_access.hpp"

namespace brood {

// Opens the data API on the shards that `access` names, with the configured limits of the dead set.  Reports shards
// that are away on standard error.  Throws what RedisAccess::shards() throws.
Api open_api(const RedisAccess& access);

}  // namespace brood
