#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/support/redis_server.hpp"

namespace brood {

// A server's INFO replication.
struct Replication {
  bool is_master = false;
  std::uint16_t master_port = 0;    // 0: it is a master
  bool has_data_of_master = false;  // and receives its changes
  std::size_t replicas_in_step = 0;

  static Replication read(std::string_view info);
  static Replication of(RedisServer& server);
};

// Makes one server a replica of the other.  It needs a while until it is in step.
void follow(RedisServer& replica, RedisServer& master);

// Whether one is a replica of the other now, and has its data.  Before that, it may not take over in a cluster: Redis
// considers its data too old.
bool is_in_step(RedisServer& replica, const RedisServer& master);

}  // namespace brood
