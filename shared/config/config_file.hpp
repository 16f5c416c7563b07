#pragma once

#include <sys/types.h>

#include <string>

namespace brood {

struct ConfigFile {
  std::string text;
  mode_t mode = 0;  // as stat(2) gives it
};

// Throws ConfigError, which names the path, when it cannot be read, is no regular file or is larger than 1 MB.
ConfigFile read_config_file(const std::string& path);

}  // namespace brood
