#pragma once

#include <brood/api.hpp>

#include "supervisor/cli/redis_access.hpp"

namespace brood {

// The data API on the Redis that a command is told of, with the configured limits of the dead set.  Throws as
// RedisAccess::locate().
Api open_api(const RedisAccess& access);

}  // namespace brood
