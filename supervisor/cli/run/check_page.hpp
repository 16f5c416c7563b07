#pragma once

#include "shared/config/config.hpp"
#include "supervisor/cli/run/findings.hpp"

namespace brood {

// Why the page of [web] would not start or listen here: its users cannot be read, or jobs could change them; the port
// is only for root; the address is none of this machine; a directory is not writable for this process.  A missing
// directory is a warning.  An address in use is no fault: the running page has it.
Findings check_page(const Config& config);

}  // namespace brood
