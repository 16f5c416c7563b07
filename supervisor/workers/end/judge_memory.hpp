#pragma once

#include <cstdint>
#include <optional>

#include "shared/base/clock.hpp"
#include "supervisor/workers/end/judge_worker_end.hpp"

namespace brood {

// Decides whether memory ended a worker, and whose fault that was.  Pure.
//
// A SIGKILL that brood did not send: with a cgroup, it is the worker's fault if the cgroup had reached its limit.
// Without one, it is the worker's fault if the kernel has killed for memory and the worker held more than an equal
// share of the host's memory.  Other ends are due to memory only if they show it: an uncaught std::bad_alloc, or a
// segmentation fault close below the limit, where code used the null pointer of a failed malloc.
MemoryVerdict judge_memory(const WorkerExit& exit);

// Assigns the kills that host_oom_kills() counts to deaths: each kill explains one death, however late or close
// together the deaths are noticed.  Pure.
class OomKills {
 public:
  explicit OomKills(std::uint64_t counted) : explained_(counted), seen_(counted) {}

  // Whether a kill is left to explain one more death.
  bool take(std::uint64_t counted);

  // Call it as often as you like.  A kill that was counted half a minute ago explains nothing any more: its death would
  // have been noticed.  (A process of many gigabytes takes seconds to die.)
  void forget_old(std::uint64_t counted, SteadyTime now);

 private:
  std::uint64_t explained_;            // kills that have explained a death, or never will
  std::uint64_t seen_;                 // the count at seen_at_
  std::optional<SteadyTime> seen_at_;  // nullopt: nothing has been forgotten yet
};

}  // namespace brood
