#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <optional>
#include <string>

#include "shared/base/host_memory.hpp"
#include "shared/config/config.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "supervisor/workers/end/judge_memory.hpp"
#include "supervisor/workers/end/judge_worker_end.hpp"
#include "supervisor/workers/end/memory_cgroup.hpp"
#include "supervisor/workers/places/process_table.hpp"

namespace brood {

// Gathers what can be known of a worker that has just been reaped, before its slot is filled again: its record, its
// last words, what it used, and whether memory ended it.
class ExitEvidence {
 public:
  struct Finding {
    WorkerExit exit;
    WorkerEnd end;
    std::optional<WorkerDeath> worker_death;  // what is to be recovered; nullopt: nothing
  };

  explicit ExitEvidence(std::string identity);

  // Now and then: kills by the kernel that are old do not explain deaths that come later.
  void note_host_memory(SteadyTime now) { host_kills_.forget_old(host_oom_kills(), now); }

  // What the worker could use: its limit, and how many shared the host's memory with it.
  struct Share {
    std::uint64_t memory_limit_bytes = 0;
    int workers = 1;
  };
  // The worker still occupies `taken`.  `leaf` is what the worker's own memory cgroup has counted; nullopt where it had
  // none.
  Finding examine(int slot, const ProcessTable::Slot& taken, const SlotRecord& record, const ExitStatus& status,
                  const rusage& used, const std::optional<MemoryEvents>& leaf, const Share& share, SteadyTime now);

 private:
  MemoryVerdict judge_memory_of(const WorkerExit& exit, const rusage& used, const std::optional<MemoryEvents>& leaf,
                                const Share& share);
  WorkerDeath worker_death_of(const WorkerExit& exit, const WorkerEnd& end, const ProcessTable::Slot& taken,
                              const rusage& used) const;

  const std::string identity_;
  const std::uint64_t host_bytes_;
  OomKills host_kills_;
};

// What the job of which the worker died has used, as far as the worker's totals tell.
JobUsage usage_of_last_job(const WorkerExit& exit, const SlotRecord& record, const rusage& used);

}  // namespace brood
