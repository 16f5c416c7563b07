#pragma once

#include "shared/config/sandbox_settings.hpp"

namespace brood {

// Forbids this process and its later children, for good, the system calls that reach other processes, the kernel's
// settings, and, as `settings` ask, the network and the rights of files.  Also forbids all calls of 32-bit programs,
// which would need a table of their own.  Throws std::system_error if the kernel refuses.
void enter_sandbox_filter(const SandboxSettings& settings);

}  // namespace brood
