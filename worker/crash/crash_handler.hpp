#pragma once

#include <chrono>

#include "shared/scoreboard/scoreboard.hpp"

namespace brood {

struct CrashHandlerSettings {
  std::chrono::milliseconds longest_unwinding{1500};
  void (*before_unwinding)() = nullptr;  // for tests
  // It is called in the handler, or within exit(), after the whole record is written.  It may take long.
  void (*when_written)() = nullptr;
};

// Installs the handlers that write a worker's crashes and stacks into its slot's record.
//
// From now on, in this process and not in copies of it, a crash is written into `record.crash`: first the certain
// facts, then the frames, if the unwinder finishes in time.  The process then ends by the same signal as without a
// handler.  An uncaught exception's type and what() are stored there too.  On TTIN the handler writes the stack of the
// present work into `record.dump`, for the request in that record, and the process goes on.
//
// The calling thread gets an alternative stack: without it, no handler can run after a stack overflow.
void install_crash_handler(SlotRecord& record, const CrashHandlerSettings& settings = {});

// Call it in a copy of this process that runs one job for it: from then on the copy's crash is written into the same
// record.  The libraries are those that were noted before the copy was made.
void take_over_crash_handler();

// `pass` is called first when another process sends TTIN or ABRT to this process.  It returns true if it has sent the
// signal on to another process, whose stack is then to be reported.  `pass` is async-signal-safe.
void pass_signals_by(bool (*pass)(int signal));

// Notes at which addresses the libraries are.  Call it after the libraries are loaded, and after each job, which may
// have loaded more.  From the first call on, exit() during a job is written into `record.crash`; libraries' destructors
// run after that.
void note_libraries();

}  // namespace brood
