#pragma once

#include <sys/types.h>

#include <string>

#include "shared/config/config.hpp"
#include "supervisor/cli/run/findings.hpp"

namespace brood {

// What the sandboxes of classes lack here, by the kernel and by what it lets this very process do, and the paths they
// name that are not there or that it may not use.  A refusal: a class may not run so.  Names classes that need cgroups
// and does not check these: only a running service knows whether it has them.
Findings check_sandboxes(const Config& config);

// For a child of the supervisor, which has that one's cgroups.  Empty when each class may run.
std::string why_no_sandbox(const Config& config, pid_t supervisor);

}  // namespace brood
