// Writes every event of its worker into the file $EVENTS_LEDGER, a line each: event, handler, pid.  EVENTS_FAULT makes
// one of them fail, such as "startup throws", "beat crashes", "exit hangs", "fork forks".
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <brood/job.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void append(const std::string& line) {
  const int fd = open(variable("EVENTS_LEDGER").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const std::string whole = line + " " + std::to_string(getpid()) + "\n";
  if (fd < 0 || write(fd, whole.data(), whole.size()) < 0) throw std::runtime_error("cannot write the ledger");
  close(fd);
}

void sleep_a_little() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

void go_wrong(const std::string& event) {
  const std::string fault = variable("EVENTS_FAULT");
  if (!fault.starts_with(event + " ")) return;
  // Only once, if this variable names a file.
  const std::string once = variable("EVENTS_FAULT_ONCE");
  if (!once.empty() && unlink(once.c_str()) != 0) return;
  if (fault == event + " throws") throw std::domain_error("a wrong " + event);
  if (fault == event + " crashes") std::abort();
  if (fault == event + " forks") {
    const pid_t copy = fork();
    if (copy > 0) waitpid(copy, nullptr, 0);
    return;
  }
  for (;;) sleep_a_little();
}

void listen(brood::Setup& setup, brood::Event event, const std::string& name) {
  setup.on(event, [name](const brood::Occasion& occasion) {
    append(name + ".a");
    std::printf("told of %s in %s\n", name.c_str(), std::string(occasion.capsule()).c_str());
  });
  setup.on(event, [name] {
    append(name + ".b");
    go_wrong(name);
  });
}

}  // namespace

struct Ran {
  void perform() { append("ran"); }
};

struct UntilFile {
  std::string file;
  void perform() {
    append("began");
    while (access(file.c_str(), F_OK) != 0) sleep_a_little();
    append("ended");
  }
};

struct CrashNow {
  void perform() {
    int* volatile nowhere = reinterpret_cast<int*>(0x10);
    *nowhere = 1;
  }
};

struct FailNow {
  void perform() { throw std::runtime_error("now"); }
};

void brood_setup(brood::Setup& setup) {
  listen(setup, brood::Event::fork, "fork");
  listen(setup, brood::Event::startup, "startup");
  listen(setup, brood::Event::heartbeat, "heartbeat");
  listen(setup, brood::Event::beat, "beat");
  listen(setup, brood::Event::quiet, "quiet");
  listen(setup, brood::Event::shutdown, "shutdown");
  listen(setup, brood::Event::exit, "exit");
  setup.on(brood::Event::crash, [](const brood::Occasion& crash) {
    append(
        "crash " + std::string(crash.job()->job_class) + " " + std::string(crash.job()->error_class) +
        (crash.report().find("CrashNow::perform") != std::string_view::npos ? " with its stack" : " without a stack"));
  });
  setup.on_error([](const brood::JobInfo& job, const std::exception& error) {
    append("error " + std::string(job.job_class) + " " + std::string(job.error_class) +
           (dynamic_cast<const brood::JobCrashed*>(&error) != nullptr ? " crashed" : ""));
  });
}

BROOD_JOBS(Ran, UntilFile, CrashNow, FailNow)
