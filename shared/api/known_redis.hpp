#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/time_unit.hpp"
#include "shared/redis/address.hpp"
#include "shared/store/outcome.hpp"

namespace brood {

// Where Redis is, and the other settings of the machine that a client follows.
struct KnownRedis {
  std::vector<RedisAddress> shards;  // one at least
  DeadLimits dead;
  std::optional<TimeUnit> times = {};  // how pushes spell times; nullopt: as the fleet does
  // The shard that this process's job came from; its worker may go from one to another.  Not set, or an empty name:
  // this is no job, or nobody has said.
  std::function<std::string()> own_shard = {};
};

// In a job its worker's Redis, else the one that `brood run` would use.  Throws RedisError.
KnownRedis known_redis();

// At `url`, with Sidekiq's own limits of the dead set.  Throws RedisError.
KnownRedis known_redis(const std::string& url);

}  // namespace brood
