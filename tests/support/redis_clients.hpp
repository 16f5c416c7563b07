#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/redis_server.hpp"

namespace brood {

// A connection to a server, as CLIENT LIST tells it.
struct RedisClient {
  std::string id, name;
  std::string last_command;  // as "blmove" or "client|setname"
  bool is_blocked = false;   // waits in it
  std::chrono::seconds idle{};

  static std::vector<RedisClient> read(std::string_view list);
  // Those whose names begin so.
  static std::vector<RedisClient> of(RedisServer& server, std::string_view name = "");
};

}  // namespace brood
