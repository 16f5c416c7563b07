#pragma once

#include <brood/api.hpp>

#include "supervisor/cli/redis_access.hpp"

namespace brood {

// The data API on the Redis that `access` names, with the configured limits of the dead set.  Throws what
// RedisAccess::locate() throws.
Api open_api(const RedisAccess& access);

}  // namespace brood
