#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "shared/config/config.hpp"

namespace brood {

// Why a worker makes room for a new one although nothing is wrong with it.
enum class RecycleReason {
  max_jobs,       // it has done as many jobs as it may
  max_rss,        // it has grown larger than it may
  out_of_memory,  // a job hit the memory limit, and may have left anything behind
  threads,        // a job has left threads behind
  timers,         // a job has left timers behind; its library may not know that they were stopped
  limits,         // a job has lowered a limit of the process for good
  forker,         // the copy that forks its isolated jobs has ended, and a new one would have traces of earlier jobs
};

// The age of one worker process, between two jobs.
struct WorkerAge {
  std::uint64_t jobs = 0;
  std::uint64_t rss_bytes = 0;  // read only if max_rss is set
  bool ran_out_of_memory = false;
  int left_threads = 0, left_timers = 0;
  bool lowered_limits = false;
  bool lost_forker = false;
};

// Pure: why a worker must be replaced now; nullopt: it goes on.
std::optional<RecycleReason> judge_recycling(const WorkerSettings& settings, const WorkerAge& age);

std::string_view name_of(RecycleReason reason);

}  // namespace brood
