#pragma once

#include <sys/types.h>

#include <string>

#include "shared/config/config.hpp"
#include "supervisor/cli/run/findings.hpp"

namespace brood {

// Checks what the sandboxes of classes need: the kernel, the rights of this very process, and the paths that they name.
// A refusal means that a class cannot run in its sandbox here.  Names the classes that need cgroups and does not check
// these, since only a running service knows whether it has them.
Findings check_sandboxes(const Config& config);

// The same in a child of the supervisor, which has the supervisor's cgroups.  Empty if each class can run.
std::string why_no_sandbox(const Config& config, pid_t supervisor);

}  // namespace brood
