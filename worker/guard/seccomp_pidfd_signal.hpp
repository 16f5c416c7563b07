#pragma once

#include <csignal>

#include <ucontext.h>

namespace brood {

// pidfd_send_signal for those who may not have it: a filter cannot see whose descriptor it is given.  In a worker, and
// in copies of it that have not executed another program, the call of the C library ends in a SIGSYS, and what it asks
// for is done by the pid that the descriptor names, under the rules that the shield has for pids.  Others are answered
// as by a kernel before 5.1, and take kill().

// Once the shield stands: a filter for the C library's own calls.  Nothing where it cannot be done.
void trap_pidfd_signals();

// For the handler of SIGSYS: true when the signal was this, and the interrupted call has its result.
// Async-signal-safe.
bool sent_for_pidfd(const siginfo_t& info, ucontext_t& interrupted);

}  // namespace brood
