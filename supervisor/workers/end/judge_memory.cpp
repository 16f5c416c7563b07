#include "supervisor/workers/end/judge_memory.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

namespace brood {
namespace {

using namespace std::chrono_literals;

MemoryVerdict judge_kill(const MemoryEvidence& evidence) {
  if (evidence.leaf) {
    if (evidence.leaf->oom_kill == 0) return MemoryVerdict::not_memory;
    // If the worker's own limit was not reached, a limit above it caused the kill.
    if (evidence.leaf->oom > 0) return MemoryVerdict::own_limit;
  } else if (!evidence.host_oom_kill) {
    return MemoryVerdict::not_memory;
  }
  const std::uint64_t share = evidence.host_bytes / static_cast<std::uint64_t>(std::max(evidence.workers, 0) + 1);
  if (!evidence.leaf && share > 0 && evidence.peak_rss_bytes > share) return MemoryVerdict::host_pressure_guilty;
  return MemoryVerdict::host_pressure_innocent;
}

bool close_to_the_limit(const MemoryEvidence& evidence) {
  return evidence.memory_limit_bytes > 0 &&
         evidence.stack.data_bytes >= evidence.memory_limit_bytes - evidence.memory_limit_bytes / 8;
}

}  // namespace

MemoryVerdict judge_memory(const MemoryEvidence& evidence) {
  if (evidence.ended_by_brood || evidence.status.exited) return MemoryVerdict::not_memory;
  switch (evidence.status.value) {
    case SIGKILL:
      return judge_kill(evidence);
    case SIGABRT:
      return evidence.stack.thrown_type == "St9bad_alloc" ? MemoryVerdict::own_limit : MemoryVerdict::not_memory;
    case SIGSEGV:
      return close_to_the_limit(evidence) ? MemoryVerdict::own_limit : MemoryVerdict::not_memory;
    default:
      return MemoryVerdict::not_memory;
  }
}

bool OomKills::take(std::uint64_t counted) {
  // A counter that has fallen belongs to another cgroup.
  if (counted < explained_) explained_ = seen_ = counted;
  if (counted == explained_) return false;
  ++explained_;
  return true;
}

void OomKills::forget_old(std::uint64_t counted, SteadyTime now) {
  if (seen_at_ && now - *seen_at_ < 30s) return;
  explained_ = std::max(explained_, std::exchange(seen_, counted));
  seen_at_ = now;
}

}  // namespace brood
