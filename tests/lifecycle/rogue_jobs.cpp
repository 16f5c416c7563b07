// Jobs that misbehave, which the supervisor must survive.
#include <brood/job.hpp>

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

namespace {

void note(const std::string& path, const std::string& line) { std::ofstream(path, std::ios::app) << line << std::endl; }

[[noreturn]] void stay() {
  for (;;) pause();
}

// Forks a process that leaves its parent's group and session, as daemons do, and writes its pid to `path`.
void daemonise(const std::string& path) {
  const pid_t middle = fork();
  if (middle == 0) {
    setsid();
    if (fork() == 0) {
      note(path, std::to_string(getpid()));
      stay();
    }
    _exit(0);
  }
  int status = 0;
  while (waitpid(middle, &status, 0) < 0 && errno == EINTR) {
  }
}

void write_all(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = write(STDOUT_FILENO, text.data() + at, text.size() - at);
    if (written <= 0) return;
    at += static_cast<std::size_t>(written);
  }
}

}  // namespace

// Prints a line in each way that a job can print.
struct PrintLines {
  std::string text;
  void perform() {
    std::cout << text << " cout\n";
    std::printf("%s printf\n", text.c_str());
    std::cerr << text << " cerr\n";
    write_all(text + " write\n");
    if (std::system(("echo " + text + " child").c_str()) != 0) throw std::runtime_error("no shell");
  }
};

// Prints bytes given in hexadecimal, so that every byte is possible.
struct PrintRaw {
  std::string hex;
  void perform() {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
      bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    write_all(bytes);
  }
};

struct PrintAndCrash {
  std::string text;
  void perform() {
    std::cout << text << "\n";
    std::cerr << text << " cut off";
    std::raise(SIGSEGV);
  }
};

struct PrintForever {
  int milliseconds = 0;
  void perform() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    while (std::chrono::steady_clock::now() < until) write_all("babble\n\n\x1b[31mbabble\n");
  }
};

struct CloseStdout {
  void perform() {
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
  }
};

struct CloseAllDescriptors {
  void perform() { close_range(0, ~0U, 0); }
};

struct DaemoniseAndReturn {
  std::string path;
  void perform() { daemonise(path); }
};

struct DaemoniseAndCrash {
  std::string path;
  void perform() {
    daemonise(path);
    std::abort();
  }
};

// Forks processes in the worker's own group.
struct ForkBomb {
  int processes = 0;
  std::string path;
  void perform() {
    for (int i = 0; i < processes; ++i) {
      if (fork() == 0) stay();
    }
    note(path, "done");
    std::abort();
  }
};

// Forks processes that each lead a session, and have a child that leads another.
struct SetsidBomb {
  int processes = 0;
  std::string path;
  void perform() {
    for (int i = 0; i < processes; ++i) {
      if (fork() != 0) continue;
      setsid();
      if (fork() == 0) setsid();
      stay();
    }
    note(path, "done");
    std::abort();
  }
};

// Leaves children that end at once and that it does not wait for.
struct LeaveZombies {
  int processes = 0;
  void perform() {
    for (int i = 0; i < processes; ++i) {
      if (fork() == 0) _exit(0);
    }
  }
};

struct BlockAllSignals {
  std::string path;
  void perform() {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    note(path, std::to_string(getpid()));
    for (volatile unsigned turns = 0;;) turns = turns + 1;
  }
};

// Fills every socket without a name: the worker's control pipe.
struct FloodControlPipe {
  int bytes = 0;
  void perform() {
    const std::string rubbish(4096, '\xff');
    for (int fd = 3; fd < 256; ++fd) {
      sockaddr_un peer{};
      socklen_t length = sizeof peer;
      if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) != 0 || peer.sun_family != AF_UNIX) continue;
      if (length > sizeof(sa_family_t)) continue;
      for (int sent = 0; sent < bytes; sent += static_cast<int>(rubbish.size())) {
        if (send(fd, rubbish.data(), rubbish.size(), MSG_NOSIGNAL) < 0) break;
      }
    }
    stay();
  }
};

struct StopSelf {
  std::string path;
  void perform() {
    note(path, std::to_string(getpid()));
    raise(SIGSTOP);
    note(path, "continued");
  }
};

struct KillParent {
  int signal = SIGKILL;
  std::string path;
  void perform() { note(path, kill(getppid(), signal) == 0 ? "killed" : std::strerror(errno)); }
};

struct KillGroup {
  void perform() { kill(0, SIGKILL); }
};

// Only with the shield: otherwise this would end all processes of the machine.
struct KillEverything {
  std::string path;
  void perform() {
    if (kill(getppid(), 0) == 0 || errno != EPERM || kill(-1, 0) == 0 || errno != EPERM) {
      note(path, "no shield");
      return;
    }
    note(path, kill(-1, SIGKILL) == 0 ? "killed" : std::strerror(errno));
  }
};

struct ScribbleScoreboard {
  void perform() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find(".scoreboard") == std::string::npos) continue;
      void *begin = nullptr, *end = nullptr;
      if (std::sscanf(line.c_str(), "%p-%p", &begin, &end) == 2)
        std::memset(begin, 0xa5, static_cast<std::size_t>(static_cast<char*>(end) - static_cast<char*>(begin)));
    }
  }
};

BROOD_JOBS(PrintLines, PrintRaw, PrintAndCrash, PrintForever, CloseStdout, CloseAllDescriptors, DaemoniseAndReturn,
           DaemoniseAndCrash, ForkBomb, SetsidBomb, LeaveZombies, BlockAllSignals, FloodControlPipe, StopSelf,
           KillParent, KillGroup, KillEverything, ScribbleScoreboard)
