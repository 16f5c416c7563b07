#include "supervisor/process/ended_children.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>

#include "supervisor/process/stopped_children.hpp"

namespace brood {
namespace {

constexpr int most_reaped_a_turn = 256;

ExitStatus exit_status(const siginfo_t& info) {
  return {info.si_code == CLD_EXITED, info.si_status, info.si_code == CLD_DUMPED};
}

}  // namespace

std::vector<EndedChildren::One> EndedChildren::reap(const std::function<bool(pid_t)>& leads_group) {
  more_ = true;
  std::vector<One> ended;
  // One SIGCHLD may stand for several exits, so ask until no exit is left.  WNOWAIT keeps the pid taken while its
  // process group and its slot are looked at.
  for (int reaped = 0; reaped < most_reaped_a_turn; ++reaped) {
    siginfo_t info{};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
      more_ = false;
      break;
    }
    if (detach_traced(info)) continue;
    const pid_t pid = info.si_pid;
    if (leads_group(pid)) kill(-pid, SIGKILL);
    One& one = ended.emplace_back(One{pid, exit_status(info), {}});
    wait4(pid, nullptr, WNOHANG, &one.used);
  }
  std::stable_sort(ended.begin(), ended.end(),
                   [](const One& a, const One& b) { return a.used.ru_maxrss > b.used.ru_maxrss; });
  return ended;
}

}  // namespace brood
