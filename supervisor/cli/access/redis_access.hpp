#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared/api/push/known_redis.hpp"
#include "shared/config/config.hpp"
#include "shared/redis/address.hpp"

namespace brood {

class CommandLine;

// The options that tell a command where Redis is; `run` has the same ones.
struct RedisAccess {
  std::string config, url;
  std::optional<std::string> shard;  // nullopt: all shards
  // The options by which a person's command in a shell finds the same configuration, libraries and Redis, as far as
  // they are known and hold no password.
  std::string for_people = {};

  void add_options(CommandLine& line);

  // The configuration, with `url` as its Redis where one is given.  Clients of this process take the unit of their
  // times and how they speak TLS from it from now on.  Throws ConfigError.
  Config configuration() const;

  // The shards that the options name, at least one; where there is only one Redis, its shard's name is empty.  Throws
  // ConfigError or AddressError; ConnectionLost when the embedded redis-server is meant and does not run; UsageError,
  // which lists the known names, for an unknown shard.
  std::vector<RedisAddress> shards() const;
  // The same, in the form that a client takes.
  KnownRedis known() const;
  // For commands that work with one shard: throws UsageError when several are meant.
  RedisAddress locate() const;
};

// `address` as one URL, with user and password: what brood::Client takes.
std::string url_of(const RedisAddress& address);

}  // namespace brood
