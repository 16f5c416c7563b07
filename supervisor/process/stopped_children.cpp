#include "supervisor/process/stopped_children.hpp"

#include <sys/ptrace.h>
#include <sys/wait.h>

#include <csignal>

namespace brood {
namespace {

constexpr int most_a_call = 16;

}  // namespace

bool detach_traced(const siginfo_t& change) {
  if (change.si_code != CLD_TRAPPED) return false;
  // The signal that stopped it is delivered, except SIGTRAP: an exec sends that only because the worker is traced.
  const long signal = change.si_status == SIGTRAP ? 0 : change.si_status;
  ptrace(PTRACE_DETACH, change.si_pid, nullptr, signal);
  return true;
}

std::vector<pid_t> newly_stopped_children() {
  std::vector<pid_t> stopped;
  for (int i = 0; i < most_a_call; ++i) {
    // Without WNOWAIT: this consumes the stop's report, and leaves exits to be reaped elsewhere.
    siginfo_t info{};
    if (waitid(P_ALL, 0, &info, WSTOPPED | WNOHANG) != 0 || info.si_pid == 0) break;
    if (detach_traced(info)) continue;
    stopped.push_back(info.si_pid);
  }
  return stopped;
}

}  // namespace brood
