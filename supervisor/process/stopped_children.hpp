#pragma once

#include <sys/types.h>

#include <csignal>
#include <vector>

namespace brood {

// The children that were stopped (SIGSTOP, SIGTSTP) since the last call, each stop once and a bounded number a call;
// ask on SIGCHLD.  A stopped worker finishes nothing and hears nothing but SIGKILL and SIGCONT: its operator wants to
// know.
std::vector<pid_t> newly_stopped_children();

// A job that asks to be traced (PTRACE_TRACEME) makes the supervisor its tracer: the supervisor is told of each signal
// that the worker gets and must let it through.  True when `change` is such a stop: the worker is then detached and
// goes on untraced.
bool detach_traced(const siginfo_t& change);

}  // namespace brood
