#pragma once

#include <string>

#include "supervisor/cli/access/redis_access.hpp"

namespace brood {

// `brood scale --all`: sets the number of workers of supervisors on all machines, at the same time.
struct FleetScale {
  RedisAccess redis;
  std::string process;  // the identity that is meant, or its unique beginning; empty: all
  std::string workers, capsule;
  bool json = false;
};

// Prints the answer of each supervisor.  Returns the exit status.
int scale_fleet(const FleetScale& scale);

}  // namespace brood
