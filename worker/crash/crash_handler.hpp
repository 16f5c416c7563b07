#pragma once

#include <chrono>

#include "shared/scoreboard/scoreboard.hpp"

namespace brood {

struct CrashHandlerSettings {
  std::chrono::milliseconds longest_unwinding{1500};
  void (*before_unwinding)() = nullptr;  // for tests
  // Within the handler, or within exit(), once all of it is written; it may take its time.
  void (*when_written)() = nullptr;
};

// What a worker tells of itself in its slot.
//
// From now on, in this process and not in copies of it: a crash is written into `record.crash`, first what is certain
// and then, if the unwinder comes to an end in time, the frames; the process then ends by the same signal as without a
// handler.  An uncaught exception's type and what() are kept there too.  TTIN writes the stack of what this process is
// doing into `record.dump`, for the request that stands there, and it goes on.
//
// The calling thread gets an alternative stack: only there the overflow of a stack can be told.
void install_crash_handler(SlotRecord& record, const CrashHandlerSettings& settings = {});

// Once the libraries are loaded, and after each job, which may have loaded more: notes where they are.  From the first
// call on, exit() during a job is written into `record.crash`; libraries' destructors run after that.
void note_libraries();

}  // namespace brood
