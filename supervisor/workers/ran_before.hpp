#pragma once

#include <string>
#include <vector>

#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/in_flight/worker_death.hpp"
#include "supervisor/report/preceding_classes.hpp"
#include "supervisor/workers/worker_slots.hpp"

namespace brood {

// The classes that ran in the dead worker's process before the job that ran last.
std::vector<CrashFacts::RanBefore> ran_before(const SlotRecord& record, const UsageTable& usage);
// "Images::Decode 1 run before, Mail 12".
std::string describe(const std::vector<CrashFacts::RanBefore>& classes);

// Watches who has run in the workers before the jobs that crash there, and before those that do not, and notes in the
// table of usage who does so before crashes more often than chance would have it.
class RanBeforeWatch {
 public:
  explicit RanBeforeWatch(WorkerSlots& slots) : slots_(slots) {}

  // The job that a worker has died of; its slot is still occupied.
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
