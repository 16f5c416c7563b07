#pragma once

#include <cstdlib>
#include <string>

namespace brood {

// The server that all tests start: as named by BROOD_REDIS_SERVER (a path, or a name in PATH such as valkey-server),
// else redis-server.
inline std::string redis_program() {
  const char* const named = std::getenv("BROOD_REDIS_SERVER");
  return named != nullptr && *named != '\0' ? named : "redis-server";
}

}  // namespace brood
