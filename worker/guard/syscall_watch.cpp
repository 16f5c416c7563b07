#include "worker/guard/syscall_watch.hpp"

#include <sys/prctl.h>

#include <algorithm>

namespace brood {
namespace {

// These values of linux/prctl.h and asm-generic/siginfo.h are missing from older headers.
constexpr int pr_set_syscall_user_dispatch = 59;
constexpr unsigned long dispatch_off = 0, dispatch_on = 1;
constexpr int sys_user_dispatch = 2;  // si_code

constexpr char let_through = 0, catch_it = 1;
constexpr int most_unwatched = 256;

// The kernel reads this byte at each system call of the watched thread.
volatile char selector = let_through;

// Steps back to the instruction that raised the signal, to execute it again: `syscall` has two bytes.
bool step_back([[maybe_unused]] ucontext_t& interrupted) {
#if defined(__x86_64__)
  interrupted.uc_mcontext.gregs[REG_RIP] -= 2;
  return true;
#else
  return false;
#endif
}

constexpr bool can_step_back() {
#if defined(__x86_64__)
  return true;
#else
  return false;
#endif
}

}  // namespace

SyscallWatch::SyscallWatch() : ours_(handlers()), possible_(can_step_back()) {}

SyscallWatch::Handlers SyscallWatch::handlers() {
  Handlers found{};
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) == 0) found[static_cast<std::size_t>(signal)] = action.sa_handler;
  }
  return found;
}

bool SyscallWatch::handlers_are_ours() const {
  const Handlers now = handlers();
  for (std::size_t signal = 1; signal < now.size(); ++signal) {
    if (now[signal] != ours_[signal] && now[signal] != SIG_DFL && now[signal] != SIG_IGN) return false;
  }
  return now[SIGSYS] == ours_[SIGSYS] && now[SIGSYS] != SIG_DFL;
}

bool SyscallWatch::may_switch_on() {
  if (!handlers_checked_ && !handlers_are_ours()) return false;
  handlers_checked_ = true;
  sigset_t blocked;
  return sigprocmask(SIG_SETMASK, nullptr, &blocked) == 0 && sigismember(&blocked, SIGSYS) == 0;
}

void SyscallWatch::switch_to(bool on) {
  on_ = on && prctl(pr_set_syscall_user_dispatch, dispatch_on, 0UL, 0UL, &selector) == 0;
  if (on && !on_) possible_ = false;
  if (!on) prctl(pr_set_syscall_user_dispatch, dispatch_off, 0UL, 0UL, 0UL);
}

void SyscallWatch::begin_job() {
  if (!on_ && possible_ && unwatched_ == 0) {
    if (may_switch_on())
      switch_to(true);
    else
      unwatched_ = most_unwatched;
  }
  if (on_) selector = catch_it;
}

bool SyscallWatch::end_job() {
  if (!on_) {
    unwatched_ = std::max(unwatched_ - 1, 0);
    handlers_checked_ = false;
    return true;
  }
  const bool caught = selector == let_through;
  selector = let_through;
  if (!caught) {
    next_unwatched_ = 1;
    return false;
  }
  // The next jobs will probably make calls too.  Their calls must not be slowed down by the watch, so some of these
  // jobs are not watched.
  switch_to(false);
  handlers_checked_ = false;
  unwatched_ = next_unwatched_;
  next_unwatched_ = std::min(2 * next_unwatched_, most_unwatched);
  return true;
}

bool watched_call(const siginfo_t& info, ucontext_t& interrupted) {
  const bool watched = selector == catch_it;
  selector = let_through;
  return watched && info.si_signo == SIGSYS && info.si_code == sys_user_dispatch && step_back(interrupted);
}

void end_watch() { selector = let_through; }

}  // namespace brood
