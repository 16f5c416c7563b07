#pragma once

#include "shared/config/config.hpp"

namespace brood {

// Prints why this process could not listen where [web] says: a port that is for root alone, an address that is none of
// this machine, a directory that it may not write.  Returns an exit status; a directory that is not there is a warning.
// An address that is in use is no fault: the running page has it.
int check_page(const Config& config);

}  // namespace brood
