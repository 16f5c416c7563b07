#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/scoreboard/stack_record.hpp"
#include "shared/store/in_flight/recover_worker.hpp"

namespace brood {

// Facts about a crash for its report, from the kernel and the worker's last words.
struct CrashFacts {
  pid_t pid = 0;
  int slot = 0;
  int signal = 0;                                        // that ended it; 0: it exited
  int exit_status = 0;                                   // when it exited
  bool core_dumped = false;                              // the kernel has written a core file
  std::string working_directory;                         // where a relative core file lies
  std::chrono::nanoseconds uptime{};                     // of the worker
  std::chrono::microseconds user_time{}, system_time{};  // of the worker, all its jobs together
  std::int64_t max_rss_kb = 0;                           // its peak
  CapturedStack stack;
  // Other classes that had run in the same process before, the newest first: one of them may have done the harm.
  struct RanBefore {
    std::string job_class;
    std::uint64_t runs_ago = 0;
  };
  std::vector<RanBefore> ran_before = {};
  std::uint64_t libraries = 0;  // digest of those that the worker had loaded; 0: none, or it is not known
};

// A worker that has died, as its supervisor knows it.
struct WorkerDeath {
  DeadWorker worker;
  // The charge for the running job; nullopt: none, it goes back to the head of its queue.
  struct Cause {
    std::string error_class;      // SIGSEGV, UnexpectedExit, JobTimeout, OutOfMemory
    std::string message;          // "SIGSEGV (SEGV_MAPERR) at 0x10 in Segfault, worker 2, up 12s"
    bool counts_as_crash = true;  // in crash_count; a timeout is a failure like any other
    std::optional<CrashFacts> facts = {};
  };
  std::optional<Cause> cause;
  // An operator ended the running job and chose its fate; it is not charged an attempt.
  enum class Fate { retry, dead, discard };
  std::optional<Fate> fate = {};
  bool leave_out_symbols = false;  // many reports wait: make each cheap
  // The supervisor died, so it is unknown how this worker ended.  A job that was running goes back to its queue, and to
  // `dead` the third time.
  bool cause_unknown = false;
  // When the run that is charged began, and how long it took; nullopt: not known.
  struct Run {
    WallTime began{};
    std::chrono::nanoseconds took{};
  };
  std::optional<Run> run = {};
  std::uint32_t class_flags = 0;        // ClassFlag bits of the class that ran
  std::string jid = {};                 // of the job that ran, also where its payload names none; cut to fit
  std::optional<int> max_crashes = {};  // setting of the worker that ran it; nullopt: the general one
};

// All that a dead supervisor's workers may have left: the records in its scoreboard, and what else its in-flight hash
// names.
struct OrphanedJobs {
  std::string identity;
  std::vector<WorkerDeath> known;
  bool only_while_silent = false;  // taken for dead because its heartbeat was missing: see DeadWorker
};

// How much a recovery risks.  Each attempt risks less than the one before, so the failure of one does not repeat in the
// next.
enum class RecoveryMode {
  full,          // retry policy with the class's hooks and death handlers
  no_library,    // retry policy alone
  move_to_dead,  // the charged job goes to `dead` as it is
};

}  // namespace brood
