#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "shared/base/unique_fd.hpp"

namespace brood::testing {

// A process between a test and the program that the test runs.  When the test ends, even by SIGKILL, the guardian kills
// the program's remaining processes, removes its directory and ends.
class Guardian {
 public:
  struct Program {
    std::vector<std::string> arguments;    // the first is its path
    std::vector<std::string> environment;  // "NAME=value", all of it
    std::string output;                    // the path of a file for standard output and standard error
    std::string directory;                 // it is removed at the end
  };

  // Throws std::system_error.
  explicit Guardian(const Program& program);
  ~Guardian();  // returns after all processes have ended and the directory is removed
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  void signal(int number);           // sends the signal to the program
  std::optional<int> exit_status();  // of the program; 128 + signal if a signal killed it; nullopt: it runs

 private:
  UniqueFd orders_;
  pid_t pid_, owner_;
  std::optional<int> status_;
};

}  // namespace brood::testing
