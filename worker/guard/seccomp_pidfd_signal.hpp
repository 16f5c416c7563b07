#pragma once

#include <csignal>

#include <ucontext.h>

namespace brood {

// Replaces pidfd_send_signal(), which the shield refuses because a filter cannot see which process its descriptor
// names.  In a worker, and in copies of it that have not executed another program, the C library's call raises SIGSYS.
// The handler then signals the pid that the descriptor names, under the shield's rules for pids.  Other programs get
// ENOSYS, as from a kernel before 5.1, and use kill().

// Adds a filter for the C library's own calls.  Call it after shield_supervisor().  It does nothing if the kernel or
// the processor does not support it.
void trap_pidfd_signals();

// Call it in the handler of SIGSYS.  Returns true if this filter raised the signal; then the interrupted call has its
// result.  Async-signal-safe.
bool sent_for_pidfd(const siginfo_t& info, ucontext_t& interrupted);

}  // namespace brood
