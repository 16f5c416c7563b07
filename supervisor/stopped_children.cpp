#include "supervisor/stopped_children.hpp"

#include <sys/wait.h>

namespace brood {
namespace {

constexpr int most_a_call = 16;

}  // namespace

std::vector<pid_t> newly_stopped_children() {
  std::vector<pid_t> stopped;
  for (int i = 0; i < most_a_call; ++i) {
    // Without WNOWAIT: it takes this stop's report, and leaves exits to whoever reaps.
    siginfo_t info{};
    if (waitid(P_ALL, 0, &info, WSTOPPED | WNOHANG) != 0 || info.si_pid == 0) break;
    stopped.push_back(info.si_pid);
  }
  return stopped;
}

}  // namespace brood
