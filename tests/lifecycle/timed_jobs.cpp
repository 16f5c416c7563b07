// Jobs that take longer than they may.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>
#include <thread>

#include <brood/job.hpp>

using namespace std::chrono_literals;

namespace {

void append(const std::string& path, const std::string& line) {
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (write(file, line.data(), line.size()) < 0) abort();
  close(file);
}

}  // namespace

// Works in steps, and asks for more time before each.  Six steps take longer than its own timeout.
struct AskForTime {
  int steps = 0;
  std::string path;

  static constexpr brood::JobOptions options{.timeout = 1s};
  void perform(brood::Context& job) {
    for (int step = 0; step < steps; ++step) {
      job.extend_timeout(3s);
      std::this_thread::sleep_for(200ms);
      if (job.stopping()) throw std::runtime_error("stopped in spite of the time it was given");
    }
    append(path, std::to_string(job.time_left().has_value()));
  }
};

// Ignores all signals, and so does its child.
struct DeafWithChild {
  std::string path;

  static constexpr brood::JobOptions options{.timeout = 100ms};
  void perform() {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    if (const pid_t child = fork(); child != 0) append(path, std::to_string(child));
    for (;;) std::this_thread::sleep_for(1s);
  }
};

// Its code ends at once, but its hook never.
struct HangInHook {
  static constexpr brood::JobOptions options{.timeout = 100ms};
  void perform() { throw std::runtime_error("on purpose"); }
  static brood::RetryDecision retry_in(int, const std::exception&) {
    for (;;) std::this_thread::sleep_for(1s);
  }
};

// Sleeps for this many seconds, with a timeout longer than any default here.
struct SleepLong {
  int seconds = 0;

  static constexpr brood::JobOptions options{.timeout = 60s};
  void perform() { std::this_thread::sleep_for(std::chrono::seconds(seconds)); }
};

// Ends close to the moment at which it would be ended.
struct CloseCall {
  std::string path;
  std::string id;
  int microseconds = 0;

  static constexpr brood::JobOptions options{.timeout = 100ms};
  void perform() {
    append(path, "S " + id + "\n");
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
    append(path, "D " + id + "\n");
  }
};

BROOD_JOBS(AskForTime, DeafWithChild, HangInHook, SleepLong, CloseCall)
