#include "supervisor/oom_judge.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <string>

namespace brood {
namespace {

MemoryVerdict judge_kill(const MemoryEvidence& evidence) {
  if (evidence.leaf) {
    if (evidence.leaf->oom_kill == 0) return MemoryVerdict::not_memory;
    // The kill came from above when its own limit was not what had been reached.
    if (evidence.leaf->oom > 0) return MemoryVerdict::own_limit;
  } else if (evidence.host_oom_kills == 0) {
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

std::uint64_t host_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size) : 0;
}

std::uint64_t host_oom_kills() {
  std::ifstream counters("/proc/vmstat");
  std::string name;
  for (std::uint64_t value = 0; counters >> name >> value;) {
    if (name == "oom_kill") return value;
  }
  return 0;
}

}  // namespace brood
