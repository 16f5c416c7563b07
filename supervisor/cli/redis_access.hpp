#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared/api/known_redis.hpp"
#include "shared/config/config.hpp"
#include "shared/redis/address.hpp"

namespace brood {

class CommandLine;

// How a command that needs Redis is told where it is; `run` is told the same way.
struct RedisAccess {
  std::string config, url;
  std::optional<std::string> shard;  // the one that is meant; nullopt: all

  void add_options(CommandLine& line);

  // The configuration, with `url` as its Redis where one is given.  Clients of this process take the unit of their
  // times and how they speak TLS from it from now on.  Throws ConfigError.
  Config configuration() const;

  // The shards that are meant, one at least; their names are empty where there is but one Redis.  Throws ConfigError or
  // AddressError; ConnectionLost when the embedded redis-server is meant and does not run; UsageError, with the names
  // that there are, for a shard that is none.
  std::vector<RedisAddress> shards() const;
  // The same, as a client takes it.
  KnownRedis known() const;
  // For commands that work with one: throws UsageError when several are meant.
  RedisAddress locate() const;
};

// `address` as one URL, with user and password: what brood::Client takes.
std::string url_of(const RedisAddress& address);

}  // namespace brood
