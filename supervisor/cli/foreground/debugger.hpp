#pragma once

#include <optional>
#include <string>
#include <vector>

namespace brood {

class CommandLine;

// The debugger under which a command executes itself.
struct Debugger {
  bool gdb = false, valgrind = false;
  std::optional<std::string> command;  // shell words before the program's

  void add_options(CommandLine& line);
  bool wanted() const { return gdb || valgrind || command; }

  // Executes `brood command args...` under the debugger, without these options, and with `--timeout 0` unless args name
  // a timeout: debugging takes time.  Does not return.  Throws UsageError if the debugger is not installed.
  [[noreturn]] void execute(const std::string& command_name, const std::vector<std::string>& args,
                            bool with_timeout) const;
};

// `args` without the options of Debugger.
std::vector<std::string> without_debugger(const std::vector<std::string>& args);

}  // namespace brood
