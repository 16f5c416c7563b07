#include "supervisor/upgrade/caretaker.hpp"

#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <fstream>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/plain_number.hpp"
#include "supervisor/process/service_notify.hpp"
#include "supervisor/upgrade/way_back.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto until_next_try = 5s;
constexpr auto time_to_finish = 25s;  // fixed, since the configuration may be what cannot be read

bool is_told_to_stop(std::chrono::nanoseconds within) {
  sigset_t stops;
  sigemptyset(&stops);
  sigaddset(&stops, SIGTERM);
  sigaddset(&stops, SIGINT);
  const timespec patience{.tv_sec = within / 1s, .tv_nsec = (within % 1s).count()};
  return sigtimedwait(&stops, nullptr, &patience) > 0;
}

void tell_children(int signal) {
  std::ifstream children("/proc/thread-self/children");
  for (pid_t child = 0; children >> plain(child);) kill(child, signal);
}

bool has_children() {
  siginfo_t ignored{};
  return waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT) == 0;
}

bool children_are_left() {
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  return has_children();
}

int stop(ServiceNotify& service) {
  service.stopping();
  tell_children(SIGTERM);
  const SteadyTime deadline = steady_now() + time_to_finish;
  while (children_are_left() && steady_now() < deadline) {
    if (is_told_to_stop(100ms)) break;  // a second signal
    service.watchdog();
  }
  tell_children(SIGKILL);
  return EX_OK;
}

}  // namespace

int take_care_of_workers(const std::string& why, int status) {
  if (!has_children()) return status;
  way_back::restore_environment();
  ServiceNotify service;
  // An early signal must end neither us nor the program that begins again.
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  service.status("the workers run on without a supervisor: " + why);
  for (;;) {
    for (const SteadyTime again = steady_now() + until_next_try; steady_now() < again;) {
      service.watchdog();
      if (is_told_to_stop(std::min<std::chrono::nanoseconds>(service.watchdog_interval().value_or(1s), 1s)))
        return stop(service);
    }
    // Restored for the exec, which keeps the mask.
    sigprocmask(SIG_SETMASK, &before, nullptr);
    way_back::begin_again(why);
    sigprocmask(SIG_SETMASK, &all, nullptr);
  }
}

}  // namespace brood
