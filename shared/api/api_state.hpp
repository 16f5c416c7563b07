#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <brood/api.hpp>

#include "shared/api/client_connection.hpp"
#include "shared/api/known_redis.hpp"
#include "shared/api/push_receiver.hpp"
#include "shared/clock.hpp"

namespace brood::detail {

// What the objects of one Api share.
struct ApiState {
  explicit ApiState(const KnownRedis& known) : redis(known.address), dead(known.dead) {}

  // Lets `talk` have the connection to itself.  Nothing that a user passed in may run in it.
  template <typename Talk>
  auto converse(Talk talk) {
    if (push_receiver())
      throw RedisError(
          "brood::Api shows what lies in Redis; while a brood::testing::Fake or Inline takes the pushes, ask the Fake");
    const std::lock_guard lock(mutex);
    try {
      return talk(redis);
    } catch (const UnexpectedReply& reply) {
      throw RedisError("Redis at " + redis.name() + ": " + reply.what());
    }
  }

  std::mutex mutex;
  ClientConnection redis;
  DeadLimits dead;
};

}  // namespace brood::detail

namespace brood {

inline Time to_time(WallTime t) { return Time(std::chrono::duration_cast<Time::duration>(t.time_since_epoch())); }
inline WallTime wall_time(Time t) {
  return WallTime(std::chrono::duration_cast<WallTime::duration>(t.time_since_epoch()));
}

}  // namespace brood
