#pragma once

#include <sys/types.h>

#include <stdexcept>
#include <string>

namespace brood {

struct ConfigFile {
  std::string text;
  mode_t mode = 0;  // as stat(2) gives it
};

// Throws ConfigError, which names the path, when it cannot be read, is no regular file or is larger than 1 MB.
ConfigFile read_config_file(const std::string& path);

// A setting that cannot be used.  what() is one sentence: `etc/brood.toml:3: concurency: unknown key; did you mean
// "concurrency"?`
class ConfigError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace setting {

// Where a value stands, for the error about it: "etc/brood.toml:3: worker.max_jobs", "--concurrency" or "APP_ENV".
struct Place {
  std::string name;
  [[noreturn]] void refuse(const std::string& why) const;  // throws ConfigError
};

}  // namespace setting
}  // namespace brood
