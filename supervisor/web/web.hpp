#pragma once

#include "shared/config/config.hpp"
#include "supervisor/cli/access/redis_access.hpp"

namespace brood {

// Serves the page until SIGTERM or SIGINT.  If `is_supervised`, also ends when the supervisor closes the other end of
// standard input.  Returns the exit status.  Throws std::runtime_error if it cannot listen there, or if the file of
// users cannot be used.
int serve_pages(const RedisAccess& access, const WebSettings& settings, bool is_supervised);

}  // namespace brood
