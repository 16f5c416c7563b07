#include "worker/guard/offspring.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "shared/base/process_stat.hpp"

namespace brood {
namespace {

constexpr int most_reaped_between_jobs = 256;
constexpr std::size_t most_killed_at_once = 4096;

std::int64_t microseconds_of(const timeval& time) { return time.tv_sec * 1'000'000 + time.tv_usec; }

}  // namespace

void adopt_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

void reap_orphans() {
  for (int reaped = 0; reaped < most_reaped_between_jobs && waitpid(-1, nullptr, WNOHANG) > 0; ++reaped) {
  }
}

OffspringUse end_offspring() {
  OffspringUse use;
  for (;;) {
    rusage used{};
    pid_t ended = wait4(-1, nullptr, WNOHANG | __WALL, &used);
    if (ended < 0 && errno == ECHILD) return use;
    if (ended == 0) {
      for (const pid_t child : own_children(most_killed_at_once)) {
        if (getpgid(child) == child) kill(-child, SIGKILL);
        use.killed += kill(child, SIGKILL) == 0 ? 1 : 0;
      }
      ended = wait4(-1, nullptr, __WALL, &used);
    }
    if (ended <= 0) continue;
    use.cpu_us += microseconds_of(used.ru_utime) + microseconds_of(used.ru_stime);
    use.peak_kb = std::max(use.peak_kb, static_cast<std::uint64_t>(std::max(used.ru_maxrss, 0L)));
  }
}

}  // namespace brood
