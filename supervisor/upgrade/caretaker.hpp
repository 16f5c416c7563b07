#pragma once

#include <string>

namespace brood {

// For a process whose programs could not take over, neither the new one nor the one before: its workers run on, and
// whoever ends the process ends them.  So it feeds the watchdog, says what is wrong, and begins again every few
// seconds; it reaps nobody, since the program that will take over has to see who ended.  Returns the exit status: 0
// once it was told to stop and the workers have gone, `status` at once where there are no children.
int take_care_of_workers(const std::string& why, int status);

}  // namespace brood
