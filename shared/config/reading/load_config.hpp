#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared/config/config.hpp"

namespace brood {

// What the command line says; absent members leave the file's value alone.
struct ConfigOverrides {
  std::optional<int> concurrency = {};
  std::vector<std::string> queues = {};              // "name" or "name,weight"; replaces the default capsule's
  std::vector<std::string> require = {};             // replaces the file's
  std::optional<std::string> shutdown_timeout = {};  // seconds, or a duration with its unit
  std::optional<std::string> environment = {}, tag = {}, redis_url = {}, log_format = {};
  bool verbose = false;
};

// Reads `path` (empty: built-in defaults), applies `overrides`, and checks every value.  Relative paths of job
// libraries are made absolute against the working directory.  Where nobody names an environment, APP_ENV, RAILS_ENV and
// RACK_ENV do, as for Sidekiq; the variables that say where Redis is are left to redis_location. Throws ConfigError.
Config load_config(const std::string& path, const ConfigOverrides& overrides);
// The same for a file that was read before.
Config load_config(const std::string& path, const ConfigFile& file, const ConfigOverrides& overrides);

}  // namespace brood
