#pragma once

#include <cstdint>
#include <optional>

namespace brood {

// The kernel's figures about a process.
struct ProcessUse {
  std::uint64_t start_time = 0;  // clock ticks since boot; a different start time means a different process
  double cpu_s = 0;              // since the process began
  std::uint64_t rss_kb = 0;
};

// Returns nullopt if there is no such process.
std::optional<ProcessUse> use_of_process(std::int64_t pid);

// The use that a worker's row shows: of the process of its job if there is one (`job` is not 0), else of the worker.
std::optional<ProcessUse> use_of_worker(std::int64_t worker, std::int64_t job);

}  // namespace brood
