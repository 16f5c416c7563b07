#pragma once

#include <string>
#include <vector>

namespace brood {

// The means for sandboxes on this machine.
struct SandboxOffers {
  int landlock_abi = 0;  // 0: the kernel has no Landlock, or it is switched off
  bool seccomp = false;  // whether the kernel has it
  // Calls that the kernel has, or may have, and that something forbids to this process, half a sentence each: a seccomp
  // filter around it does that, as that of a systemd unit or of a container.
  std::vector<std::string> forbidden = {};
};

// Finds out in a child, which enters a sandbox.  Call it in a process of one thread.  Throws std::system_error where
// there is no child to be had.
SandboxOffers sandbox_offers();

// For a process that is to be in a sandbox: it and all that it starts have no capability from now on, but root keeps
// the one to read and write what root may.  Throws std::system_error.
void drop_capabilities();

}  // namespace brood
