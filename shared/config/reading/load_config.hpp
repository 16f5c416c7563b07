#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared/config/config.hpp"

namespace brood {

// Settings from the command line.  Members that are not set leave the file's value alone.
struct ConfigOverrides {
  std::optional<int> concurrency = {};
  std::vector<std::string> queues = {};              // "name" or "name,weight"; replaces the default capsule's
  std::vector<std::string> require = {};             // replaces the file's
  std::optional<std::string> shutdown_timeout = {};  // seconds, or a duration with its unit
  std::optional<std::string> environment = {}, tag = {}, redis_url = {}, log_format = {};
  bool verbose = false;
};

// Reads `path` (empty: built-in defaults), applies `overrides`, and checks every value.  Relative paths of job
// libraries are made absolute against the working directory.  If no environment is named, APP_ENV, RAILS_ENV and
// RACK_ENV name it, as for Sidekiq; the variables with the address of Redis are left to redis_location.  Throws
// ConfigError.
Config load_config(const std::string& path, const ConfigOverrides& overrides);
// The same for a file that has already been read.
Config load_config(const std::string& path, const ConfigFile& file, const ConfigOverrides& overrides);

}  // namespace brood
