#pragma once

#include "shared/scoreboard/scoreboard.hpp"

namespace brood {

// For a process that performs one job by itself, with nobody to read its last words: from now on a crash, or exit()
// during a job, is told on standard error by a process that the dying one executes (`brood perform --crash-record FD`)
// and waits for, since only a fresh one can look for names.  Then a crash ends by its signal; a timeout (SIGABRT of a
// timer) and exit() end with 70, what the job itself had chosen notwithstanding.  Once in a process.
SlotRecord& report_own_crash();

// The body of the process that tells: `record` is a descriptor of what report_own_crash() has made.  Returns its exit
// status.
int tell_of_crash(int record);

}  // namespace brood
