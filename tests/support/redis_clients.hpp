#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/redis_server.hpp"

namespace brood {

// A connection to a server, from CLIENT LIST.
struct RedisClient {
  std::string id, name;
  std::string last_command;  // such as "blmove" or "client|setname"
  bool is_blocked = false;   // by that command
  std::chrono::seconds idle{};

  static std::vector<RedisClient> read(std::string_view list);
  // The connections whose names begin with `name`.
  static std::vector<RedisClient> of(RedisServer& server, std::string_view name = "");
};

}  // namespace brood
