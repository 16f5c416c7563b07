#pragma once

#include <optional>
#include <string>
#include <vector>

namespace brood {

class CommandLine;

// The program under which a command executes itself anew.
struct Debugger {
  bool gdb = false, valgrind = false;
  std::optional<std::string> command;  // of the shell, in front of the program

  void add_options(CommandLine& line);
  bool wanted() const { return gdb || valgrind || command; }

  // Executes `brood command args...` under it, without these options, and with `--timeout 0` where args name no other:
  // who looks at a job takes their time.  Does not return.  Throws UsageError when it is not installed.
  [[noreturn]] void execute(const std::string& command_name, const std::vector<std::string>& args,
                            bool with_timeout) const;
};

// `args` without the options of Debugger.
std::vector<std::string> without_debugger(const std::vector<std::string>& args);

}  // namespace brood
