#pragma once

#include <string>
#include <string_view>

namespace brood {

// What brood thinks of a Redis, from its INFO.
struct RedisFitness {
  std::string refusal;  // why it cannot be used; empty: it can
  std::string not_now;  // why it cannot be used at this time: it is a replica, or reads its data from disk still
  std::string warning;  // what an operator should change
  std::string version;  // redis_version
};

// Why this server's data are not to be changed now, from its INFO or the section `replication` of it; empty: they may
// be.  A replica may take writes, which are lost with the next synchronisation.  Pure.
std::string why_no_master(std::string_view info);

// Pure.  Wanted: Redis 6.2 or a server that says it is compatible, no cluster, maxmemory-policy noeviction.
RedisFitness judge_redis(std::string_view info);

}  // namespace brood
