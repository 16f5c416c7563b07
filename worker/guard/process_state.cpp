#include "worker/guard/process_state.hpp"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <climits>
#include <cstdint>

namespace brood {

ProcessState::ProcessState()
    : dispositions_{{{SIGTERM, {}},
                     {SIGTTIN, {}},
                     {SIGALRM, {}},
                     {SIGPIPE, {}},
                     {SIGSEGV, {}},
                     {SIGBUS, {}},
                     {SIGFPE, {}},
                     {SIGILL, {}},
                     {SIGABRT, {}},
                     {SIGSYS, {}},
                     {SIGTRAP, {}}}},
      terminate_(std::get_terminate()) {
  sigprocmask(SIG_SETMASK, nullptr, &mask_);
  for (Disposition& noted : dispositions_) sigaction(noted.signal, nullptr, &noted.action);
  sigaltstack(nullptr, &alternative_stack_);
  prctl(PR_GET_PDEATHSIG, &parent_death_signal_);
  umask_ = umask(077);
  umask(umask_);
  char path[PATH_MAX];
  struct stat status {};
  if (getcwd(path, sizeof path) != nullptr && stat(path, &status) == 0) {
    directory_ = path;
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
  std::fegetenv(&floating_point_);
}

// Setting it takes a hundred times as long as looking.
bool ProcessState::floating_point_is_as_noted() const {
#if defined(__x86_64__)
  constexpr unsigned exceptions = 0x3f;
  std::uint16_t control = 0, status = 0;
  std::uint32_t vector_control = 0;
  asm volatile("fnstcw %0" : "=m"(control));
  asm volatile("fnstsw %0" : "=m"(status));
  asm volatile("stmxcsr %0" : "=m"(vector_control));
  return control == floating_point_.__control_word &&
         (status & exceptions) == (floating_point_.__status_word & exceptions) &&
         vector_control == floating_point_.__mxcsr;
#else
  return false;
#endif
}

void ProcessState::restore_own() const {
  std::set_terminate(terminate_);
  if (!floating_point_is_as_noted()) std::fesetenv(&floating_point_);
}

void ProcessState::restore_kernels() const {
  constexpr itimerval no_alarm{};
  setitimer(ITIMER_REAL, &no_alarm, nullptr);  // before its signal can do anything
  // To look whether one was changed would cost the same system call.
  for (const Disposition& noted : dispositions_) sigaction(noted.signal, &noted.action, nullptr);
  sigaltstack(&alternative_stack_, nullptr);
  sigprocmask(SIG_SETMASK, &mask_, nullptr);
  prctl(PR_SET_PDEATHSIG, parent_death_signal_);
  umask(umask_);
  struct stat status {};
  const bool elsewhere = stat(".", &status) != 0 || status.st_dev != device_ || status.st_ino != inode_;
  if (elsewhere && !directory_.empty() && chdir(directory_.c_str()) != 0) {
    // The directory is gone, and the next job has none either way.
  }
}

}  // namespace brood
