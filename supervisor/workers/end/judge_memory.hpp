#pragma once

#include <cstdint>
#include <optional>

#include "supervisor/workers/end/cgroup_places.hpp"
#include "supervisor/workers/end/judge_worker_end.hpp"

namespace brood {

// What a cgroup's memory.events and memory.events.local have counted.
struct MemoryEvents {
  std::uint64_t oom_kill = 0;        // processes in it that an out-of-memory killer ended, whoever called it
  std::uint64_t oom_group_kill = 0;  // times that it was ended as a whole
  std::uint64_t max = 0, oom = 0;    // times that it reached its own limit, and found nothing to reclaim

  bool operator==(const MemoryEvents&) const = default;
};

// What may tell a worker that its own memory ended from any other.
struct MemoryEvidence {
  ExitStatus status;
  bool ended_by_brood = false;
  CapturedStack stack;
  std::uint64_t memory_limit_bytes = 0;  // 0: none
  std::optional<MemoryEvents> leaf;      // since the worker's birth; nullopt: it has no cgroup of its own
  bool host_oom_kill = false;            // the kernel has killed one that no other death explains
  std::uint64_t peak_rss_bytes = 0;      // of this worker
  std::uint64_t host_bytes = 0;          // what all have together
  int workers = 1;
};

// Pure: whether memory ended a worker, and whose.  A SIGKILL that brood did not send is the worker's own doing when its
// cgroup had reached its limit; where there is no cgroup and the kernel has killed for memory since, when it held more
// than an equal share of the host's memory.  Any other end counts when it says so itself: an uncaught std::bad_alloc,
// or a segmentation fault close below the limit, where somebody used what malloc had refused.
MemoryVerdict judge_memory(const MemoryEvidence& evidence);

// What this process and its workers may have together: all memory of the host, or the least limit of a cgroup above
// them.  0: not known.
std::uint64_t host_memory_bytes(const CgroupPlaces& places = {});

// How many processes the kernel has killed for want of memory: of this process's own memory cgroup if that is counted,
// in which its workers and all that they start are too, else of the whole host since it booted.
std::uint64_t host_oom_kills(const CgroupPlaces& places = {});

// That count, dealt out: each kill explains one death, however late or close together they are found.  Pure.
class OomKills {
 public:
  explicit OomKills(std::uint64_t counted) : explained_(counted), seen_(counted) {}

  // For one death: whether a kill is left to explain it.
  bool take(std::uint64_t counted);

  // Now and then: what was counted at the last time already explains nothing any more; its death would have been found.
  void forget_old(std::uint64_t counted);

 private:
  std::uint64_t explained_;  // that many explain a death, or never will
  std::uint64_t seen_;       // when it was last asked to forget
};

}  // namespace brood
