#pragma once

#include <cstddef>
#include <string>

#include "tests/support/redis_server.hpp"

namespace brood {

// The number of connections that it has accepted since its start.
inline std::size_t connections_of(RedisServer& redis) {
  const Reply stats = redis.command({"INFO", "stats"});
  const std::string text(stats.view().text()), name = "total_connections_received:";
  return std::stoul(text.substr(text.find(name) + name.size()));
}

}  // namespace brood
