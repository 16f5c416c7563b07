#pragma once

#include "shared/scoreboard/scoreboard.hpp"

namespace brood {

// For a process that performs one job by itself, where no supervisor reads the crash record.  From now on a crash, or
// exit() during a job, is reported on standard error: the dying process executes `brood perform --crash-record FD`,
// since only a fresh process can look up names, and waits for it.  Then a crash ends by its signal; a timeout (SIGABRT
// of a timer) and exit() end with 70, whatever status the job has chosen.  Call it once in a process.
SlotRecord& report_own_crash();

// The body of the process that reports: `record` is a descriptor of what report_own_crash() has made.  Returns its exit
// status.
int tell_of_crash(int record);

}  // namespace brood
