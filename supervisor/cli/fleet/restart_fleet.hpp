#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "shared/base/clock.hpp"
#include "supervisor/cli/access/redis_access.hpp"

namespace brood {

// `brood restart --all`: restarts the supervisors of a Redis one after the other, on all machines, and stops at the
// first that fails.
struct FleetRestart {
  RedisAccess redis;
  std::string process;                    // the beginning of the identities that are meant; empty: all
  std::optional<WallTime> loaded_before;  // restarts only supervisors with older workers
  std::chrono::milliseconds timeout{std::chrono::minutes(15)};  // for each
  bool dry_run = false, json = false;
};

// Prints the plan, then a line for each supervisor.  Returns the exit status.
int restart_fleet(const FleetRestart& restart);

}  // namespace brood
