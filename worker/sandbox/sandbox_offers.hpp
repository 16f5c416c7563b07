#pragma once

#include <string>
#include <vector>

namespace brood {

// The means for sandboxes on this machine.
struct SandboxOffers {
  int landlock_abi = 0;  // 0: the kernel has no Landlock, or it is switched off
  bool seccomp = false;  // whether the kernel has it
  // Steps that are forbidden to this process although the kernel has them, or may have them, half a sentence each: by a
  // seccomp filter, such as that of a systemd unit or of a container.
  std::vector<std::string> forbidden = {};
};

// Finds out by a child that enters a sandbox.  Call it in a process with one thread.  Throws std::system_error if the
// child cannot be made.
SandboxOffers sandbox_offers();

// Drops all capabilities of a process that enters a sandbox, and of all that it starts.  Root keeps the one to read and
// write what root may.  Throws std::system_error.
void drop_capabilities();

}  // namespace brood
