#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "shared/base/unique_fd.hpp"

namespace brood::testing {

// A process between the test and a program that it runs.  It outlives the test, even a killed one, just long enough to
// kill the program's remaining processes and to remove its directory.
class Guardian {
 public:
  struct Program {
    std::vector<std::string> arguments;    // the first is its path
    std::vector<std::string> environment;  // "NAME=value", all of it
    std::string output;                    // a file for both outputs
    std::string directory;                 // is removed at the end
  };

  // Throws std::system_error.
  explicit Guardian(const Program& program);
  ~Guardian();  // returns when nothing is left
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  void signal(int number);           // to the program
  std::optional<int> exit_status();  // of the program, 128 + signal when killed by one; nullopt: it runs

 private:
  UniqueFd orders_;
  pid_t pid_, owner_;
  std::optional<int> status_;
};

}  // namespace brood::testing
