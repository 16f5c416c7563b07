#pragma once

#include "worker/sandbox/landlock_rules.hpp"

namespace brood {

// The version of Landlock's interface that this kernel has; 0: none, or it is switched off.  Throws std::system_error
// where a filter refuses the question.
int landlock_abi();

// The calling thread, and all that it starts from now on, lives under these rules for good.  Sets no_new_privs.  Throws
// std::system_error, which names the path that is not there.
void enter_landlock(const LandlockRules& rules);

}  // namespace brood
