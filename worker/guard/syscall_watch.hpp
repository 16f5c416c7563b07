#pragma once

#include <array>
#include <csignal>

#include <ucontext.h>

namespace brood {

// Detects whether a job has made a system call.  Only then can it have changed the kernel's state of the worker, and
// restoring that state takes more than twenty calls.  Linux' syscall user dispatch (prctl(2), 5.11) turns the first
// call of a watched job into a SIGSYS, whose handler ends the watch and lets the call happen.  Calls of other threads
// are not detected; but a job that starts a thread has made a call.
//
// Every job counts as having made calls if the kernel lacks the dispatch, or if a library handles signals itself (its
// handler may block SIGSYS, and the kernel then ends the process).  Some jobs after one that made a call count so too.
class SyscallWatch {
 public:
  // Make it after install_crash_handler(), which handles the signal, and before any library is loaded.
  SyscallWatch();

  // Begins to watch the calling thread, which must be the one that runs the jobs.
  void begin_job();
  // Whether the job has made a call, or may have.
  bool end_job();

 private:
  bool may_switch_on();
  bool handlers_are_ours() const;
  void switch_to(bool on);

  using Handlers = std::array<void (*)(int), NSIG>;
  static Handlers handlers();

  const Handlers ours_;
  bool on_ = false;
  bool possible_ = true;
  bool handlers_checked_ = false;  // since the last job that made a call
  int unwatched_ = 0;              // the number of next jobs that are not watched
  int next_unwatched_ = 1;         // its next value, if the next watched job makes a call
};

// Ends the watch; call it first in a signal handler, whose own calls are not the job's.  Returns true if the watch
// itself raised the signal, which is then handled.
bool watched_call(const siginfo_t& info, ucontext_t& interrupted);
// Ends the watch, in a handler of another signal.
void end_watch();

}  // namespace brood
