// Loads a table of PRELOAD_MEGABYTES (1) at preload, and records in the file PRELOAD_LEDGER which process did so and
// which worker saw it.  PRELOAD_LEAVES makes it leave something behind there, PRELOAD_FAULT makes it fail.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <brood/job.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

std::vector<char> table;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void append(const std::string& line) {
  const int fd = open(variable("PRELOAD_LEDGER").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const std::string whole = line + " " + std::to_string(getpid()) + "\n";
  if (fd < 0 || write(fd, whole.data(), whole.size()) < 0) throw std::runtime_error("cannot write the ledger");
  close(fd);
}

void leave(const std::string& what) {
  static int kept[2];
  if (what == "thread") std::thread([] { pause(); }).detach();
  if (what == "socket") kept[0] = socket(AF_INET, SOCK_STREAM, 0);
  if (what == "pipe" && pipe(kept) != 0) std::abort();
  if (what == "timerfd") kept[0] = timerfd_create(CLOCK_MONOTONIC, 0);
  if (what == "alarm") alarm(3600);
  if (what == "timer") {
    timer_t timer{};
    sigevent nothing{};
    nothing.sigev_notify = SIGEV_NONE;
    if (timer_create(CLOCK_MONOTONIC, &nothing, &timer) != 0) std::abort();
  }
  if (what == "lock") {
    kept[0] = open(variable("PRELOAD_LEDGER").c_str(), O_RDWR | O_CLOEXEC);
    if (flock(kept[0], LOCK_EX) != 0) std::abort();
  }
  if (what == "child" && fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // in case the test kills all other processes
    pause();
    _exit(0);
  }
  if (what == "file") kept[0] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
}

void go_wrong(const std::string& fault) {
  const std::string once = variable("PRELOAD_FAULT_ONCE");
  if (!once.empty() && unlink(once.c_str()) != 0) return;
  if (fault == "throws") throw std::domain_error("no table here");
  if (fault == "crashes") std::abort();
  if (fault == "exits") std::_Exit(3);
  while (fault == "hangs") pause();
}

}  // namespace

struct Looked {
  void perform() const {
    if (table.empty() || table.back() != 'x') throw std::runtime_error("there is no table");
    append("looked");
  }
};

struct Rolled {
  void perform() const { append("rolled " + std::to_string(std::rand()) + " " + std::to_string(lrand48())); }
};

struct Slept {
  int milliseconds = 0;
  void perform() const {
    append("slept");
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  }
};

struct Crashed {
  void perform() const { std::abort(); }
};

void brood_setup(brood::Setup& setup) {
  setup.on(brood::Event::preload, [](const brood::Occasion& occasion) {
    if (occasion.slot() != -1 || !occasion.capsule().empty()) throw std::logic_error("told of a worker");
    go_wrong(variable("PRELOAD_FAULT"));
    const std::string megabytes = variable("PRELOAD_MEGABYTES");
    table.assign((megabytes.empty() ? 1 : std::stoul(megabytes)) << 20U, 'x');
    append("preloaded");
    leave(variable("PRELOAD_LEAVES"));
  });
  setup.on(brood::Event::fork, [] { append("forked"); });
}

BROOD_JOBS(Looked, Rolled, Slept, Crashed)
