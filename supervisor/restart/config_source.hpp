#pragma once

#include <functional>
#include <memory>

#include "shared/config/config.hpp"

namespace brood {

// Where a rolling restart has its next configuration from.  The file may be anything: a child reads it first, since
// what harms the process that parses it must not harm the supervisor.
struct ConfigSource {
  std::function<ConfigFile()> file;  // as it is now.  Throws ConfigError
  // In a child: reads the configuration, and writes what its libraries need to the descriptor.  Throws ConfigError.
  std::function<void(const ConfigFile&, const Config& present, int needed)> try_out;
  // The same in the supervisor, once that went well.
  std::function<std::shared_ptr<const Config>(const ConfigFile&, const Config& present, int needed)> read;
};

}  // namespace brood
