#include "supervisor/workers/end/judge_memory.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

namespace brood {
namespace {

using namespace std::chrono_literals;

MemoryVerdict judge_kill(const WorkerExit& exit) {
  if (exit.leaf) {
    if (exit.leaf->oom_kill == 0) return MemoryVerdict::not_memory;
    // If the worker's own limit was not reached, a limit above it caused the kill.
    if (exit.leaf->oom > 0) return MemoryVerdict::own_limit;
  } else if (!exit.host_oom_kill) {
    return MemoryVerdict::not_memory;
  }
  const std::uint64_t share = exit.host_bytes / static_cast<std::uint64_t>(std::max(exit.workers, 0) + 1);
  if (!exit.leaf && share > 0 && static_cast<std::uint64_t>(exit.used.ru_maxrss) * 1024 > share)
    return MemoryVerdict::host_pressure_guilty;
  return MemoryVerdict::host_pressure_innocent;
}

bool close_to_the_limit(const WorkerExit& exit) {
  return exit.memory_limit_bytes > 0 && exit.stack.data_bytes >= exit.memory_limit_bytes - exit.memory_limit_bytes / 8;
}

}  // namespace

MemoryVerdict judge_memory(const WorkerExit& exit) {
  if (exit.by != EndedBy::itself || exit.status.exited) return MemoryVerdict::not_memory;
  switch (exit.status.value) {
    case SIGKILL:
      return judge_kill(exit);
    case SIGABRT:
      return exit.stack.thrown_type == "St9bad_alloc" ? MemoryVerdict::own_limit : MemoryVerdict::not_memory;
    case SIGSEGV:
      return close_to_the_limit(exit) ? MemoryVerdict::own_limit : MemoryVerdict::not_memory;
    default:
      return MemoryVerdict::not_memory;
  }
}

bool OomKills::take(std::uint64_t counted) {
  // If a counter has fallen, it belongs to another cgroup.
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
