#pragma once

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/scoreboard/stack_record.hpp"

namespace brood {

// A living worker of this machine and user, and where it was when it was asked.
struct WorkerStack {
  std::string identity;  // of its supervisor
  int slot = 0;
  SlotSnapshot seen;
  SteadyTime seen_at{};
  CapturedStack stack;  // none when it did not answer
  std::string trouble;  // why not, in a sentence's second half: "is stopped"; empty when it did
};

// Asks every worker whose scoreboard lies in `directory`, or those in `slots` where it names any, and waits together
// for their answers.  A worker that could be harmed by the question, for its job has taken the handler away, is not
// asked.
std::vector<WorkerStack> ask_for_stacks(const std::string& directory, const std::set<int>& slots,
                                        std::chrono::milliseconds patience);

}  // namespace brood
