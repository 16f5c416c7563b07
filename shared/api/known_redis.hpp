#pragma once

#include <optional>
#include <string>

#include "shared/base/time_unit.hpp"
#include "shared/redis/address.hpp"
#include "shared/store/outcome.hpp"

namespace brood {

// Where Redis is, and what else a client goes by of the machine's configuration.
struct KnownRedis {
  RedisAddress address;
  DeadLimits dead;
  std::optional<TimeUnit> times = {};  // of what is pushed; nullopt: as the fleet writes them
};

// In a job that of its worker, else as `brood run` finds it.  Throws RedisError.
KnownRedis known_redis();

// At `url`, with Sidekiq's own limits of the dead set.  Throws RedisError.
KnownRedis known_redis(const std::string& url);

}  // namespace brood
