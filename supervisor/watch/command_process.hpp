#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "shared/base/unique_fd.hpp"

namespace brood::watch {

// Runs one of brood's own commands in a separate process, so that a command that takes seconds does not hold up the
// keys. Reads its standard output and error as they come.
class CommandProcess {
 public:
  // `brood` is the path of the program.  Throws std::system_error.
  CommandProcess(const std::string& brood, const std::vector<std::string>& command);
  ~CommandProcess();  // sends SIGKILL if it still runs
  CommandProcess(const CommandProcess&) = delete;
  CommandProcess& operator=(const CommandProcess&) = delete;

  const std::vector<std::string>& command() const { return command_; }
  int fd() const { return output_.get(); }

  // Reads what is there without waiting.  Returns the whole output once the command has ended, nullopt before.
  std::optional<std::string> read();

 private:
  std::vector<std::string> command_;
  UniqueFd output_;
  pid_t pid_ = -1;
  std::string text_;
};

}  // namespace brood::watch
