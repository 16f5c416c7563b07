#pragma once

#include "shared/config/sandbox_settings.hpp"

namespace brood {

// Refuses, for this process and all that it starts, the system calls that reach other processes, the kernel's own
// settings, or, as the settings say, the network and the rights of files; and every call of 32-bit programs, which
// would need a table of their own.  For good.  Throws std::system_error where the kernel refuses.
void enter_sandbox_filter(const SandboxSettings& settings);

}  // namespace brood
