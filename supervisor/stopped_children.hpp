#pragma once

#include <sys/types.h>

#include <vector>

namespace brood {

// The children that were stopped (SIGSTOP, SIGTSTP) since the last call, each stop once and a bounded number a call;
// ask on SIGCHLD.  A stopped worker finishes nothing and hears nothing but SIGKILL and SIGCONT: its operator wants to
// know.
std::vector<pid_t> newly_stopped_children();

}  // namespace brood
