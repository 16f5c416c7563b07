#pragma once

#include <optional>
#include <string>
#include <vector>

namespace brood {

class CommandLine;

// The debugger under which a command executes itself again.
struct Debugger {
  bool gdb = false, valgrind = false;
  std::optional<std::string> command;  // shell words that are put in front of the program

  void add_options(CommandLine& line);
  bool wanted() const { return gdb || valgrind || command; }

  // Executes `brood command args...` under the debugger, without these options, and with `--timeout 0` where args name
  // no other: people who debug a job take their time.  Does not return.  Throws UsageError when the debugger is not
  // installed.
  [[noreturn]] void execute(const std::string& command_name, const std::vector<std::string>& args,
                            bool with_timeout) const;
};

// `args` without the options of Debugger.
std::vector<std::string> without_debugger(const std::vector<std::string>& args);

}  // namespace brood
