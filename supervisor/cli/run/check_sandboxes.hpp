#pragma once

#include <sys/types.h>

#include <string>

#include "shared/config/config.hpp"

namespace brood {

// Prints what the sandboxes of classes lack here, by the kernel and by what it lets this very process do, and the paths
// they name that are not there or that it may not use.  Returns an exit status: EX_CONFIG where a class may not run so.
// Names classes that need cgroups and does not check these: only a running service knows whether it has them.
int check_sandboxes(const Config& config);

// For a child of the supervisor, which has that one's cgroups.  Empty when each class may run.
std::string why_no_sandbox(const Config& config, pid_t supervisor);

}  // namespace brood
