#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/time_unit.hpp"
#include "shared/config/encryption_settings.hpp"
#include "shared/redis/address.hpp"
#include "shared/store/outcome.hpp"

namespace brood {

// Where Redis is, and the other settings of the machine that a client follows.
struct KnownRedis {
  std::vector<RedisAddress> shards;      // one at least
  DeadLimits dead = DeadLimits::none();  // to which a command or a client cuts the dead set
  std::optional<TimeUnit> times = {};    // how pushes spell times; nullopt: as the fleet does
  EncryptionSettings encryption = {};    // by which arguments are encrypted
  // In a job: returns the shard of its worker, which may change shards.  Not set, or an empty name: not in a job, or
  // unknown.
  std::function<std::string()> own_shard = {};
};

// In a job its worker's Redis, else the one that `brood run` would use.  Throws RedisError.
KnownRedis known_redis();

// By which keys a client encrypts: those that its environment names (BROOD_ENCRYPTION_KEYS), as a job's does, else
// those of the configuration.  Throws ConfigError.
EncryptionSettings known_keys(const EncryptionSettings& configured);

// The Redis at `url`, without a configuration.  Throws RedisError.
KnownRedis known_redis(const std::string& url);

}  // namespace brood
