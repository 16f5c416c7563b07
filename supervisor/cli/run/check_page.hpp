#pragma once

#include "shared/config/config.hpp"
#include "supervisor/cli/run/findings.hpp"

namespace brood {

// Why the page of [web] would not start here, or not listen: its users cannot be read, or could be changed by each job;
// a port that is for root alone, an address that is none of this machine, a directory that this process may not write.
// A directory that is not there is a warning.  An address that is in use is no fault: the running page has it.
Findings check_page(const Config& config);

}  // namespace brood
