#pragma once

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/scoreboard/stack_record.hpp"

namespace brood {

// A living worker of this machine and user, and its stack when it was asked.
struct WorkerStack {
  std::string identity;  // of its supervisor
  int slot = 0;
  SlotSnapshot seen;
  SteadyTime seen_at{};
  CapturedStack stack;  // none when it did not answer
  std::string trouble;  // why it did not, as the second half of a sentence: "is stopped"; empty: it did
};

// Asks every worker whose scoreboard lies in `directory`, or those in `slots` where it names any, and waits together
// for their answers.  A worker whose job has taken the handler away is not asked: the signal could harm it.
std::vector<WorkerStack> ask_for_stacks(const std::string& directory, const std::set<int>& slots,
                                        std::chrono::milliseconds patience);

}  // namespace brood
