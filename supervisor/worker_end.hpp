#pragma once

#include <optional>
#include <string>

#include "shared/scoreboard.hpp"
#include "shared/signal_names.hpp"
#include "shared/store/casualty.hpp"

namespace brood {

// How a process ended, as waitid tells it.
struct ExitStatus {
  bool exited = false;           // else a signal ended it
  int value = 0;                 // exit status, or the signal's number
  std::string describe() const;  // "exited with 3", "killed by SIGSEGV"
};

// What a worker's end means.
struct WorkerEnd {
  bool in_order = false;  // it left when told to, or was recycled; nothing to recover when it also retired
  bool nothing_to_recover = false;
  bool began_a_job = false;
  std::optional<Casualty::Cause> cause;  // what a running job is charged with
};

// Pure: who pays for this end.  A job whose worker brood itself killed is not charged; every other end in the middle of
// a job is the job's own, a SIGKILL of unknown
// origin too.  `processed_before` is what the slot had counted when the worker was forked.
WorkerEnd judge_worker_end(const ExitStatus& status, const SlotSnapshot& last, int slot, std::uint64_t processed_before,
                           bool killed_by_brood, SteadyTime now);

// 42s, 12m, 3h
std::string short_duration(std::chrono::nanoseconds d);

}  // namespace brood
