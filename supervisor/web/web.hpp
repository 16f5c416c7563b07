#pragma once

#include "shared/config/config.hpp"
#include "supervisor/cli/access/redis_access.hpp"

namespace brood {

// Serves the page until SIGTERM or SIGINT, or, for a supervisor that holds the other end of standard input, until that
// ends.  Returns the exit status.  Throws std::runtime_error if it cannot listen there, or the file of the users cannot
// be used.
int serve_pages(const RedisAccess& access, const WebSettings& settings, bool is_supervised);

}  // namespace brood
