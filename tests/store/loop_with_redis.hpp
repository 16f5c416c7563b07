#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "shared/redis/async_connection.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/test_loop.hpp"

namespace brood {

// The situation of a supervisor: a loop, with a connection to a Redis of the test's own.
struct LoopWithRedis : TestLoop {
  RedisServer redis;
  AsyncConnection connection{loop.raw(), "test", {}};

  LoopWithRedis() { open(connection); }

  void open(AsyncConnection& one) {
    one.open(redis.address());
    run_until([&] { return one.connected(); });
  }

  // Runs the loop for that long.  Returns whether Redis received the command, such as "rpop", meanwhile.
  bool is_sent_within(const std::string& command, std::chrono::milliseconds time) {
    redis.command({"CONFIG", "RESETSTAT"});
    run_for(time);
    const Reply stats = redis.command({"INFO", "commandstats"});
    return stats.view().text().find("cmdstat_" + command + ":") != std::string_view::npos;
  }

  double redis_seconds() {
    const Reply time = redis.command({"TIME"});
    return static_cast<double>(time.view()[0].integer()) + static_cast<double>(time.view()[1].integer()) / 1e6;
  }
};

}  // namespace brood
