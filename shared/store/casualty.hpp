#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/store/recovery.hpp"

namespace brood {

// A worker that has died, as its supervisor knows it.
struct Casualty {
  DeadWorker worker;
  // What the running job is charged with; nullopt: nothing, it goes back to the head of its queue.
  struct Cause {
    std::string error_class;  // SIGSEGV, UnexpectedExit
    std::string message;
  };
  std::optional<Cause> cause;
  // The supervisor died, and with it the knowledge of how this worker ended: a job that was running goes back to its
  // queue, and to `dead` when that happens to it for the third time.
  bool cause_unknown = false;
  std::uint32_t class_flags = 0;  // ClassFlag bits of the class that ran
};

// Everything a dead supervisor's workers may have left: the records found in its scoreboard, and whatever else its
// in-flight hash names.
struct Estate {
  std::string identity;
  std::vector<Casualty> known;
};

// How much a recovery dares: each attempt less than the one before, so that what killed that cannot kill this.
enum class RecoveryMode {
  full,        // retry policy with the class's hooks and death handlers
  no_library,  // retry policy alone
  bury,        // the charged job goes to `dead` as it is
};

}  // namespace brood
