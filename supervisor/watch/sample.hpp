#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "shared/base/clock.hpp"
#include "supervisor/cli/access/machine_status.hpp"
#include "supervisor/cli/access/process_use.hpp"
#include "supervisor/cli/redis_status.hpp"

namespace brood::watch {

// One look at this machine.
struct MachineLook {
  SteadyTime at{};
  MachineStatus status;
  std::map<std::int64_t, ProcessUse> use;  // of the workers, by pid
};

// Reads the scoreboards of `directory` and the kernel's figures about their workers: a few small files for each.
MachineLook look_at_machine(const std::string& directory);

// One look at Redis, successful or not.
struct RedisLook {
  SteadyTime at{};
  WallTime wall{};
  std::optional<RedisStatus> status;  // nullopt: it did not answer, and `error` has the reason
  std::string error;
  std::string away;                  // the names of shards that do not answer, while others do
  std::chrono::microseconds took{};  // until everything was answered
};

}  // namespace brood::watch
