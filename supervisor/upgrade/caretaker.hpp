#pragma once

#include <string>

namespace brood {

// For a process that neither the new program nor the previous one could take over.  Its workers run on, and end when
// the process ends.  So this feeds the watchdog, logs what is wrong, and starts the program again every few seconds.
// It reaps no child, since the program that takes over must see which workers ended.
//
// Returns the exit status: 0 once it was stopped and the workers have gone; `status` at once if there are no children.
int take_care_of_workers(const std::string& why, int status);

}  // namespace brood
