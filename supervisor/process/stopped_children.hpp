#pragma once

#include <sys/types.h>

#include <csignal>
#include <vector>

namespace brood {

// The children that were stopped (SIGSTOP, SIGTSTP) since the last call: each stop once, a bounded number per call.
// Call it on SIGCHLD.  A stopped worker finishes nothing and reacts only to SIGKILL and SIGCONT, so this must be
// logged.
std::vector<pid_t> newly_stopped_children();

// A job that asks to be traced (PTRACE_TRACEME) makes the supervisor its tracer: each signal to the worker then waits
// for the supervisor.  If `change` is such a stop, detaches the worker, which goes on untraced, and returns true.
bool detach_traced(const siginfo_t& change);

}  // namespace brood
