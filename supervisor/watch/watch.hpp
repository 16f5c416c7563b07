#pragma once

#include <string>

#include "supervisor/cli/access/redis_access.hpp"

namespace brood {

// `brood status --watch`: shows everything on the whole terminal until the user quits.  `interval` is the time between
// two looks, as typed by the user.  Returns the exit status; throws UsageError.
int watch_status(const RedisAccess& access, const std::string& interval);

}  // namespace brood
