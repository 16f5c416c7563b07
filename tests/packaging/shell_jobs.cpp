// Jobs that do what a test tells them, to see what the service's sandbox lets them do.
#include <sys/wait.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include <brood/job.hpp>

struct Shell {
  std::string command;

  static constexpr brood::JobOptions options{.retry = false};

  void perform() {
    const int status = std::system(command.c_str());
    if (!WIFEXITED(status)) throw std::runtime_error("the command was killed");
    if (WEXITSTATUS(status) != 0) throw std::runtime_error("exit status " + std::to_string(WEXITSTATUS(status)));
  }
};

BROOD_JOBS(Shell)
