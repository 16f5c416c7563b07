#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared/config/config.hpp"
#include "supervisor/cli/foreground/debugger.hpp"

namespace brood {

class CommandLine;

// The common part of `perform` and `replay`: runs one job in this process and reports on standard error.
struct Foreground {
  std::string command;  // "perform"
  std::vector<std::string> require;
  std::optional<std::string> attempt, timeout, memory_limit;
  bool verbose = false;
  bool push = false;             // pushes what the job enqueues; else it is only shown
  bool without_sandbox = false;  // also runs a class that has a sandbox
  Debugger debugger;

  void add_options(CommandLine& line);

  // The configuration as changed by the options.  Throws ConfigError.
  Config configuration(const std::string& config, const std::string& redis_url = "") const;

  // Executes this program under the requested debugger; returns if there is none.
  void enter_debugger(const std::vector<std::string>& args) const;

  // Performs the job and returns the exit status: 0, 70 if it failed, 75 if it was interrupted.  Throws UsageError for
  // a payload that is no job, for an unknown class and for one that has a sandbox elsewhere, ConfigError for a library
  // that cannot be used.
  int perform(const Config& given, const std::string& payload, const std::string& queue) const;

  // Runs in the process that a crashing process executes: see worker/crash/crash_reporter.hpp.
  static int tell_of_crash(int record);
};

// The end of the help of both commands.
extern const char* const foreground_footer;

}  // namespace brood
