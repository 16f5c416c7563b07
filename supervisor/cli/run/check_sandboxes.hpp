#pragma once

#include "shared/config/config.hpp"

namespace brood {

// Prints what the sandboxes of classes lack on this machine, and the paths they name that are not there.  Returns an
// exit status: a strict sandbox may lack nothing.  Cgroups are not checked: only a running service knows whether it has
// them.
int check_sandboxes(const Config& config);

}  // namespace brood
