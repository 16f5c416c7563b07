#include "worker/guard/process_state.hpp"

#include <fcntl.h>
#include <locale.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <iterator>
#include <tuple>

namespace brood {
namespace {

bool is_set(int alarm) {
  itimerval now{};
  return getitimer(alarm, &now) == 0 && (now.it_value.tv_sec != 0 || now.it_value.tv_usec != 0);
}

// The limits at which the kernel ends a job or refuses a call.  RLIMIT_CORE is not among them: a worker lowers it for
// good once it has decrypted.  Reading a limit takes half a microsecond under the shield.
constexpr int resources[] = {RLIMIT_CPU,   RLIMIT_FSIZE,  RLIMIT_DATA,    RLIMIT_STACK,
                             RLIMIT_NPROC, RLIMIT_NOFILE, RLIMIT_MEMLOCK, RLIMIT_AS};

}  // namespace

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
      terminate_(std::get_terminate()),
      c_locale_(std::setlocale(LC_ALL, nullptr)),
      thread_locale_(uselocale(nullptr)) {
  sigprocmask(SIG_SETMASK, nullptr, &mask_);
  for (Disposition& noted : dispositions_) sigaction(noted.signal, nullptr, &noted.action);
  sigaltstack(nullptr, &alternative_stack_);
  prctl(PR_GET_PDEATHSIG, &parent_death_signal_);
  umask_ = umask(077);
  umask(umask_);
  char path[PATH_MAX];
  struct stat status {};
  opened_directory_.reset(open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (stat(".", &status) == 0) {
    if (getcwd(path, sizeof path) != nullptr) directory_ = path;
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
  std::fegetenv(&floating_point_);
  counts_user_time_ = is_set(ITIMER_VIRTUAL);
  counts_processor_time_ = is_set(ITIMER_PROF);  // a profiler sets it
  static_assert(std::size(resources) == std::tuple_size_v<decltype(limits_)>);
  for (std::size_t i = 0; i < limits_.size(); ++i) getrlimit(resources[i], &limits_[i]);
}

// The check saves time: setting the environment takes a hundred times as long.
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
  restore_locale();
}

// Each locale is compared first: that takes some nanoseconds, and no system call.
void ProcessState::restore_locale() const {
  if (uselocale(nullptr) != thread_locale_) uselocale(thread_locale_);
  if (std::locale() != cpp_locale_) std::locale::global(cpp_locale_);  // this sets the C locale too, if it has a name
  if (std::setlocale(LC_ALL, nullptr) != c_locale_) std::setlocale(LC_ALL, c_locale_.c_str());
}

bool ProcessState::restore_limits() const {
  bool all = true;
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    const rlimit& noted = limits_[i];
    rlimit now{};
    if (getrlimit(resources[i], &now) != 0) continue;
    if (now.rlim_cur == noted.rlim_cur && now.rlim_max == noted.rlim_max) continue;
    if (setrlimit(resources[i], &noted) == 0) continue;
    now.rlim_cur = std::min(noted.rlim_cur, now.rlim_max);
    setrlimit(resources[i], &now);
    all = false;
  }
  return all;
}

bool ProcessState::restore_kernels() const {
  constexpr itimerval no_alarm{};
  setitimer(ITIMER_REAL, &no_alarm, nullptr);  // before its signal can do anything
  if (!counts_user_time_) setitimer(ITIMER_VIRTUAL, &no_alarm, nullptr);
  if (!counts_processor_time_) setitimer(ITIMER_PROF, &no_alarm, nullptr);
  // A check for a change would cost the same system call.
  for (const Disposition& noted : dispositions_) sigaction(noted.signal, &noted.action, nullptr);
  sigaltstack(&alternative_stack_, nullptr);
  sigprocmask(SIG_SETMASK, &mask_, nullptr);
  prctl(PR_SET_PDEATHSIG, parent_death_signal_);
  umask(umask_);
  struct stat status {};
  const bool elsewhere = stat(".", &status) != 0 || status.st_dev != device_ || status.st_ino != inode_;
  // The descriptor comes first, since the path may lead to another directory by now.
  if (elsewhere && fchdir(opened_directory_.get()) != 0 && !directory_.empty() && chdir(directory_.c_str()) != 0) {
    // A job has closed our descriptor, and the directory is gone: nothing can restore it for the next job.
  }
  return restore_limits();
}

}  // namespace brood
