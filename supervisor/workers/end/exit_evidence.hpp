#pragma once

#include <cstdint>
#include <string>

#include "shared/config/config.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "supervisor/workers/end/judge_memory.hpp"
#include "supervisor/workers/end/judge_worker_end.hpp"
#include "supervisor/workers/places/process_table.hpp"

namespace brood {

// Gathers the evidence about a worker that has just been reaped, before its slot is filled again: its record, its
// stack, what it used, and whether memory ended it.
class ExitEvidence {
 public:
  explicit ExitEvidence(std::string identity);

  // Call it now and then, so that old kills by the kernel do not explain later deaths.
  void note_host_memory(SteadyTime now);

  // Completes `seen`, in which slot, pid, status, use, memory limit, cgroup, workers and time are set, and judges it.
  // The worker still occupies `taken`.
  EndedWorker examine(WorkerExit seen, const ProcessTable::Slot& taken, const SlotRecord& record);

 private:
  WorkerDeath death_of(const WorkerExit& exit, const WorkerEnd& end, const ProcessTable::Slot& taken) const;

  const std::string identity_;
  const std::uint64_t host_bytes_;
  OomKills host_kills_;
};

// The resources that the worker's last job used, computed from the worker's totals.
JobUsage usage_of_last_job(const WorkerExit& exit, const SlotRecord& record);

}  // namespace brood
