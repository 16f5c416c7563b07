#pragma once

#include <cstdlib>
#include <string>

#include "shared/config/config.hpp"
#include "shared/config/reading/load_config.hpp"
#include "tests/support/temporary_directory.hpp"

// Configurations from a text, read as brood reads a file.
namespace brood::loaded_config {

// Variables that the tests must not inherit from their caller.
struct WithoutEnvironment {
  WithoutEnvironment() {
    for (const char* const name : {"APP_ENV", "RAILS_ENV", "RACK_ENV"}) unsetenv(name);
  }
};
inline const WithoutEnvironment without_environment;

inline Config load(const std::string& toml, const ConfigOverrides& overrides = {}) {
  const TemporaryDirectory directory;
  return load_config(directory.write("brood.toml", toml), overrides);
}

// The error about `toml`, from the line number on; "" if there is none.
inline std::string complaint(const std::string& toml) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("brood.toml", toml);
  try {
    load_config(path, {});
    return "";
  } catch (const ConfigError& error) {
    const std::string what = error.what();
    return what.starts_with(path + ":") ? what.substr(path.size() + 1) : what;
  }
}

}  // namespace brood::loaded_config
