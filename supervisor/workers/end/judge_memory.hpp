#pragma once

#include <cstdint>
#include <optional>

#include "shared/base/clock.hpp"
#include "supervisor/workers/end/judge_worker_end.hpp"

namespace brood {

// What a cgroup's memory.events and memory.events.local have counted.
struct MemoryEvents {
  std::uint64_t oom_kill = 0;        // processes in it that the out-of-memory killer ended, whichever limit caused it
  std::uint64_t oom_group_kill = 0;  // times that the cgroup was ended as a whole
  std::uint64_t max = 0, oom = 0;    // times that it reached its own limit, and that nothing was left to reclaim

  bool operator==(const MemoryEvents&) const = default;
};

// What may show whether its own memory ended a worker.
struct MemoryEvidence {
  ExitStatus status;
  bool ended_by_brood = false;
  CapturedStack stack;
  std::uint64_t memory_limit_bytes = 0;  // 0: none
  std::optional<MemoryEvents> leaf;      // since the worker's birth; nullopt: it has no cgroup of its own
  bool host_oom_kill = false;            // the kernel has counted a kill that no other death explains
  std::uint64_t peak_rss_bytes = 0;      // of this worker
  std::uint64_t host_bytes = 0;          // what the supervisor and all workers may have together
  int workers = 1;
};

// Pure: whether memory ended a worker, and whose.  A SIGKILL that brood did not send is the worker's own doing when its
// cgroup had reached its limit.  Without a cgroup it is the worker's own doing when the kernel has killed for memory
// and the worker held more than an equal share of the host's memory.  Other ends are due to memory only when they show
// it: an uncaught std::bad_alloc, or a segmentation fault close below the limit, where code used a pointer that malloc
// had refused to give.
MemoryVerdict judge_memory(const MemoryEvidence& evidence);

// Deals out host_oom_kills(): each kill explains one death, however late or close together deaths are found.  Pure.
class OomKills {
 public:
  explicit OomKills(std::uint64_t counted) : explained_(counted), seen_(counted) {}

  // For one death: whether a kill is left to explain it.
  bool take(std::uint64_t counted);

  // As often as you like: kills that were counted half a minute ago explain nothing any more; their deaths would have
  // been found.  A process of many gigabytes takes seconds from its kill to its death.
  void forget_old(std::uint64_t counted, SteadyTime now);

 private:
  std::uint64_t explained_;            // kills that have explained a death, or never will
  std::uint64_t seen_;                 // the count at seen_at_
  std::optional<SteadyTime> seen_at_;  // nullopt: nothing was forgotten yet
};

}  // namespace brood
