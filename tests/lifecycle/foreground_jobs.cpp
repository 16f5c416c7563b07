// Jobs that use the terminal they were started from, and report on themselves.
#include <sys/wait.h>
#include <unistd.h>

#include <brood/client.hpp>
#include <brood/job.hpp>
#include <iostream>
#include <stdexcept>
#include <string>

// Reads a line, and prints it.
struct Echo {
  void perform() {
    std::string line;
    std::getline(std::cin, line);
    std::cout << "heard: " << line << std::endl;
  }
};

struct Introduce {
  std::string name;
  void perform(brood::Context& job) {
    std::cout << name << " is attempt " << job.attempt() << " of " << job.jid() << " from " << job.queue() << std::endl;
  }
};

struct ThrowUncaught {
  static void fail() { throw std::runtime_error("nobody catches this"); }
  void perform() noexcept { fail(); }
};

// The forked copy returns first.
struct ForkAndReturn {
  void perform() {
    const pid_t copy = fork();
    if (copy > 0) waitpid(copy, nullptr, 0);
  }
};

struct FollowUp {
  void perform() {
    std::cout << "pushed " << brood::Client{}.enqueue(Introduce{"next"}, {.queue = "mail"}) << std::endl;
  }
};

BROOD_JOBS(Echo, Introduce, ThrowUncaught, ForkAndReturn, FollowUp)
