#include "worker/run/recycling.hpp"

namespace brood {

std::optional<RecycleReason> judge_recycling(const WorkerSettings& settings, const WorkerAge& age) {
  if (age.ran_out_of_memory) return RecycleReason::out_of_memory;
  if (age.left_threads > 0) return RecycleReason::threads;
  if (age.left_timers > 0) return RecycleReason::timers;
  if (age.lowered_limits) return RecycleReason::limits;
  if (age.lost_forker) return RecycleReason::forker;
  if (settings.max_jobs > 0 && age.jobs >= settings.max_jobs) return RecycleReason::max_jobs;
  if (settings.max_rss_bytes > 0 && age.rss_bytes > settings.max_rss_bytes) return RecycleReason::max_rss;
  return std::nullopt;
}

std::string_view name_of(RecycleReason reason) {
  switch (reason) {
    case RecycleReason::max_jobs:
      return "max_jobs";
    case RecycleReason::max_rss:
      return "max_rss";
    case RecycleReason::out_of_memory:
      return "out_of_memory";
    case RecycleReason::threads:
      return "threads";
    case RecycleReason::timers:
      return "timers";
    case RecycleReason::limits:
      return "limits";
    case RecycleReason::forker:
      return "forker";
  }
  return "unknown";
}

}  // namespace brood
