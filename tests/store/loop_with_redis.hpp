#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "shared/redis/async_connection.hpp"
#include "supervisor/process/event_loop.hpp"
#include "tests/support/redis_server.hpp"

namespace brood {

// The supervisor's situation: a loop, and a connection on it to a Redis of the test's own.
struct LoopWithRedis {
  RedisServer redis;
  EventLoop loop;
  AsyncConnection connection{loop.raw(), "test", {}};

  LoopWithRedis() { open(connection); }

  void open(AsyncConnection& one) {
    one.open(redis.address());
    run_until([&] { return one.connected(); });
  }

  // Lets the loop run until `holds` is true; false when it never was.  As eventually() does, it gives a busy machine
  // several times as much as `timeout`.
  template <typename Predicate>
  bool run_until(Predicate holds, std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
    constexpr int slower = 5;
    return holds_within(holds, slower * timeout);
  }

  // The same, and no longer.
  template <typename Predicate>
  bool holds_within(Predicate holds, std::chrono::milliseconds timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    Timer again(loop, [] {});
    while (!holds()) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
      again.start_in(std::chrono::milliseconds(3));
      loop.run_once();
    }
    return true;
  }

  // Lets the loop run for that long: only for what must not happen.
  void run_for(std::chrono::milliseconds duration) {
    holds_within([] { return false; }, duration);
  }

  // Lets the loop run for that long; returns whether Redis was sent the command ("rpop", say) meanwhile.
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
