#include "supervisor/cli/run/inherited.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>

#include "shared/base/log.hpp"

namespace brood {
namespace {

constexpr rlim_t usual_stack = 8 << 20;

// An exec keeps timers, but no handlers.  A library that was loaded before us, such as a profiler, has set its own
// handler.
void stop_timer(int timer, int signal) {
  struct sigaction action {};
  if (sigaction(signal, nullptr, &action) != 0 || (action.sa_flags & SA_SIGINFO) != 0 || action.sa_handler != SIG_DFL)
    return;
  constexpr itimerval none{};
  setitimer(timer, &none, nullptr);
}

void warn_of_limit(const char* name, __rlimit_resource resource, const char* effect) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  log::warn("limit_is_inherited", {{"limit", name}, {"value", limit.rlim_cur}, {"hint", effect}});
}

}  // namespace

void mend_inherited() {
  stop_timer(ITIMER_REAL, SIGALRM);
  stop_timer(ITIMER_VIRTUAL, SIGVTALRM);
  stop_timer(ITIMER_PROF, SIGPROF);
  signal(SIGXFSZ, SIG_IGN);  // children get it back
  umask(umask(077) & 077);
  rlimit stack{};
  if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= usual_stack) return;
  stack.rlim_cur = std::min(usual_stack, stack.rlim_max);
  setrlimit(RLIMIT_STACK, &stack);
}

void warn_of_inherited() {
  warn_of_limit("RLIMIT_CPU", RLIMIT_CPU,
                "the kernel kills the supervisor, and each worker, after that many seconds of processor time");
  warn_of_limit("RLIMIT_FSIZE", RLIMIT_FSIZE,
                "no file of brood or a job, including the log, can grow beyond that many bytes");
  char directory[PATH_MAX];
  if (getcwd(directory, sizeof directory) == nullptr)
    log::warn(
        "working_directory_is_gone",
        {{"hint", "files named by a path below it, such as job libraries, are not found again: start in another"}});
}

}  // namespace brood
