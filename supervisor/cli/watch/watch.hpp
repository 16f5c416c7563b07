#pragma once

#include <string>

#include "supervisor/cli/redis_access.hpp"

namespace brood {

// `brood status --watch`: shows everything on the whole terminal until the user has seen enough.  `interval` is between
// two looks, as the command line has it.  Returns the exit status; throws UsageError.
int watch_status(const RedisAccess& access, const std::string& interval);

}  // namespace brood
