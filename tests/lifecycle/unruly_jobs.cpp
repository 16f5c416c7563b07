// Jobs that a supervisor must survive, in a library whose loading a test can delay.
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <brood/job.hpp>

namespace {

void note(const std::string& path, const std::string& line) { std::ofstream(path, std::ios::app) << line << std::endl; }

}  // namespace

// Sends its supervisor a TERM.
struct TermSupervisor {
  int signal = SIGTERM;
  void perform() { kill(getppid(), signal); }
};

// Crashes, and leaves a process behind in its group; writes its pid to `path`.
struct LeaveChild {
  std::string path;
  void perform() {
    const pid_t child = fork();
    if (child == 0) {
      for (;;) pause();
    }
    note(path, std::to_string(child));
    std::abort();
  }
};

// Writes garbage to every socket without a name: its worker's control pipe.
struct Babble {
  std::string rubbish;
  void perform() {
    for (int fd = 3; fd < 256; ++fd) {
      sockaddr_un peer{};
      socklen_t length = sizeof peer;
      if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) != 0 || peer.sun_family != AF_UNIX) continue;
      if (length > sizeof(sa_family_t)) continue;
      send(fd, rubbish.data(), rubbish.size(), MSG_NOSIGNAL);
    }
    std::this_thread::sleep_for(std::chrono::seconds(60));
  }
};

// Writes the value of an environment variable to a file; "unset" if there is none.
struct TellEnvironment {
  std::string variable, path;
  void perform() {
    const char* value = std::getenv(variable.c_str());
    note(path, value == nullptr ? "unset" : value);
  }
};

// If BROOD_TEST_SCARCITY names a directory without a file `open`, a process that loads this library can open nothing
// any more.
void be_scarce() {
  const char* gate = std::getenv("BROOD_TEST_SCARCITY");
  if (gate == nullptr || std::filesystem::exists(std::string(gate) + "/open")) return;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = 0;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// If BROOD_TEST_CRASH is set, a static constructor crashes.
struct CrashesWhileLoading {
  CrashesWhileLoading() {
    if (std::getenv("BROOD_TEST_CRASH") != nullptr) *reinterpret_cast<volatile int*>(0x10) = 1;
  }
};
const CrashesWhileLoading crashes_while_loading;

// If BROOD_TEST_GATE names a directory, the first process that loads this library passes at once.  All others wait
// until the directory has a file `open`.
void brood_setup(brood::Setup&) {
  be_scarce();
  if (std::getenv("BROOD_TEST_EXIT") != nullptr) std::exit(0);
  const char* gate = std::getenv("BROOD_TEST_GATE");
  if (gate == nullptr) return;
  const std::string directory = gate;
  if (mkdir((directory + "/first").c_str(), 0700) == 0) return;
  while (!std::filesystem::exists(directory + "/open")) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

BROOD_JOBS(TermSupervisor, LeaveChild, Babble, TellEnvironment)
