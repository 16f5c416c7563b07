#pragma once

#include "worker/sandbox/landlock_rules.hpp"

namespace brood {

// The version of Landlock's interface that this kernel has; 0: none, or it is switched off.  Throws std::system_error
// if a seccomp filter refuses the call.
int landlock_abi();

// Puts the calling thread, and all that it starts from now on, under these rules for good.  Sets no_new_privs.  Throws
// std::system_error, which names the path that does not exist.
void enter_landlock(const LandlockRules& rules);

}  // namespace brood
