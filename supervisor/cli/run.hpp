#pragma once

#include <optional>
#include <string>

#include "shared/config/reading/load_config.hpp"

namespace brood {

// The options of `brood run`.
struct RunOptions {
  std::string config_path;  // empty: built-in defaults
  ConfigOverrides overrides;
  std::optional<int> adopt = {};   // the descriptor of the previous program's handover
  std::optional<int> former = {};  // the descriptor of that program's file, see way_back.hpp
  std::string failed = {};         // why the next program failed and gave the process back
  std::string instance = {};       // the operator's name for this supervisor, if several run
  bool check = false;              // report whether everything could run, and exit
  bool startup = false;            // with `check`: also run the startup handlers
};

// Supervises until it is stopped, and returns the exit status.  Throws ConfigError.
int run_command(const RunOptions& options);

}  // namespace brood
