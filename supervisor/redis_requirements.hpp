#pragma once

#include <string>
#include <string_view>

namespace brood {

// What brood thinks of a Redis, from its INFO.
struct RedisFitness {
  std::string refusal;  // why it cannot be used; empty: it can
  std::string warning;  // what an operator should change
  std::string version;  // redis_version
};

// Pure.  Wanted: Redis 6.2 or a server that says it is compatible, no cluster, maxmemory-policy noeviction.
RedisFitness judge_redis(std::string_view info);

}  // namespace brood
