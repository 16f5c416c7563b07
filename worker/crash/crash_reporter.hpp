#pragma once

#include "shared/scoreboard/scoreboard.hpp"

namespace brood {

// Sets up the crash report of a process that performs one job without a supervisor.  From then on a crash, or exit()
// during a job, is reported on standard error.  The dying process executes `brood perform --crash-record FD`, since
// only a fresh process can look up names, and waits for it.  Then a crash ends the process by its signal.  A timeout
// (SIGABRT of a timer) and exit() end it with status 70, whatever status the job has chosen.  Call it once in a
// process.
SlotRecord& report_own_crash();

// The body of the process that reports.  `record` is the descriptor of the file that report_own_crash() has made.
// Returns the exit status of the process.
int tell_of_crash(int record);

}  // namespace brood
