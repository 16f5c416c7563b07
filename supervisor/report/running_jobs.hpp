#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/report/work_entries.hpp"

namespace brood {

// One slot of the scoreboard as it was seen.  An empty one (pid 0) runs nothing, but its counters still count.
struct SeenSlot {
  int number = 0;
  SlotSnapshot seen;
};

// What tells one running job from the next: slot, incarnation, number and place in the batch.
using RunningJob = std::tuple<int, std::uint64_t, std::uint64_t, int>;
std::vector<RunningJob> what_runs(const std::vector<SeenSlot>& slots);

// The rows of Sidekiq's busy page.  A job whose record was torn is left out: without the queue its list is not known.
std::vector<BusyWorker> busy_workers(const std::vector<SeenSlot>& slots);

// Whether it runs the job by which a class in quarantine is tried, so that others of the class must go on waiting.
bool is_on_trial(const SlotSnapshot& seen);

// What the busy page may show of a job whose class or jid contains markup, or which is large: both without the markup,
// and no arguments.
std::string neutral_payload(const SlotSnapshot& seen);

}  // namespace brood
