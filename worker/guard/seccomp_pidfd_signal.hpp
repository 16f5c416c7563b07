#pragma once

#include <csignal>

#include <ucontext.h>

namespace brood {

// Stands in for pidfd_send_signal, which the shield refuses because a filter cannot see whose descriptor it is given.
// In a worker, and in copies of it that have not executed another program, the C library's call raises SIGSYS, and the
// handler signals the pid that the descriptor names, under the shield's rules for pids.  Other programs are answered as
// by a kernel before 5.1, and use kill().

// Call it once the shield stands: adds a filter for the C library's own calls.  Does nothing where that cannot be done.
void trap_pidfd_signals();

// For the handler of SIGSYS: true when this filter raised the signal; then the interrupted call has its result.
// Async-signal-safe.
bool sent_for_pidfd(const siginfo_t& info, ucontext_t& interrupted);

}  // namespace brood
