#pragma once

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/scoreboard/stack_record.hpp"

namespace brood {

// A living worker of this machine and user, and its stack.
struct WorkerStack {
  std::string identity;  // of its supervisor
  int slot = 0;
  SlotSnapshot seen;
  SteadyTime seen_at{};
  CapturedStack stack;  // empty if it did not answer
  std::string trouble;  // why it did not answer, as the second half of a sentence: "is stopped"; empty if it did
};

// Asks each worker with a scoreboard in `directory`, or only those in `slots` if it is not empty, and waits for all
// answers together.  Does not ask a worker whose job has removed the handler: the signal could harm it.
std::vector<WorkerStack> ask_for_stacks(const std::string& directory, const std::set<int>& slots,
                                        std::chrono::milliseconds patience);

}  // namespace brood
