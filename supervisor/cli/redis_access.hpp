#pragma once

#include <string>

#include "shared/config/config.hpp"
#include "shared/redis/address.hpp"

namespace brood {

class CommandLine;

// How a command that needs Redis is told where it is; `run` is told the same way.
struct RedisAccess {
  std::string config, url;

  void add_options(CommandLine& line);

  // The configuration, with `url` as its Redis where one is given.  Clients of this process take the unit of their
  // times and how they speak TLS from it from now on.  Throws ConfigError.
  Config configuration() const;

  // Throws ConfigError or AddressError; ConnectionLost when the embedded redis-server is meant and does not run.
  RedisAddress locate() const;
};

// `address` as one URL, with user and password: what brood::Client takes.
std::string url_of(const RedisAddress& address);

}  // namespace brood
