#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared/api/push/known_redis.hpp"
#include "shared/config/config.hpp"
#include "shared/redis/address.hpp"

namespace brood {

class CommandLine;

// The options that name Redis; `run` has the same ones.
struct RedisAccess {
  std::string config, url;
  std::optional<std::string> shard;  // nullopt: all shards
  // The options that make a command in a shell use the same configuration, libraries and Redis.  Leaves out what is
  // unknown and what may hold a password.
  std::string for_people = {};

  void add_options(CommandLine& line);

  // The configuration, with `url` as its Redis if one is given.  From now on clients of this process take their time
  // unit and their TLS settings from it.  Throws ConfigError.
  Config configuration() const;

  // The shards that the options name, at least one; with only one Redis, its shard's name is empty.  Throws ConfigError
  // or AddressError; ConnectionLost if the embedded redis-server is meant and does not run; UsageError, which lists the
  // known names, for an unknown shard.
  std::vector<RedisAddress> shards() const;
  // The same, in the form that a client takes.
  KnownRedis known() const;
  // For commands that work with one shard: throws UsageError if several are meant.
  RedisAddress locate() const;
};

// `address` as one URL, with user and password, as brood::Client takes it.
std::string url_of(const RedisAddress& address);

}  // namespace brood
