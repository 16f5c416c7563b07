#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/report/work_entries.hpp"

namespace brood {

// One slot of the scoreboard as it was seen.  An empty slot (pid 0) runs nothing, but its counters count.
struct SeenSlot {
  int number = 0;
  SlotSnapshot seen;
};

// Identifies a running job: slot, incarnation, number and place in the batch.
using RunningJob = std::tuple<int, std::uint64_t, std::uint64_t, int>;
std::vector<RunningJob> what_runs(const std::vector<SeenSlot>& slots);

// The rows of Sidekiq's busy page.  Leaves out a job with a torn record: without the queue its list is unknown.
std::vector<BusyWorker> busy_workers(const std::vector<SeenSlot>& slots);

// Whether the slot runs the job that tests a class in quarantine.  The class's other jobs must then wait.
bool is_on_trial(const SlotSnapshot& seen);

// The payload for the busy page if the class or jid contains markup, or the job is large.  It has no markup and no
// arguments.
std::string neutral_payload(const SlotSnapshot& seen);

}  // namespace brood
