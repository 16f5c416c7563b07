#pragma once

#include <string>
#include <vector>

#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/in_flight/worker_death.hpp"
#include "supervisor/report/preceding_classes.hpp"
#include "supervisor/workers/worker_slots.hpp"

namespace brood {

// The classes that ran in the dead worker's process before its last job.
std::vector<CrashFacts::RanBefore> ran_before(const SlotRecord& record, const UsageTable& usage);
// "Images::Decode 1 run before, Mail 12".
std::string describe(const std::vector<CrashFacts::RanBefore>& classes);

// Counts which classes ran in a worker before a job that crashes, and before jobs that do not.  Notes in the table of
// usage which classes run before crashes more often than by chance.
class RanBeforeWatch {
 public:
  explicit RanBeforeWatch(WorkerSlots& slots) : slots_(slots) {}

  // Notes that a worker has died of its job.  Call it while its slot is still occupied.
  void note_crash(int slot, SteadyTime now);
  // Once a second: looks at each worker's present or last job, for comparison.
  void look(SteadyTime now);

 private:
  PrecedingClasses::Run run_of(int slot, const LastRun& last) const;
  void note(const PrecedingClasses::Verdict& verdict);

  WorkerSlots& slots_;
  PrecedingClasses classes_;
};

}  // namespace brood
