#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include <brood/api.hpp>

#include "shared/api/client_connection.hpp"
#include "shared/api/known_redis.hpp"
#include "shared/api/per_process.hpp"
#include "shared/api/push_receiver.hpp"
#include "shared/base/clock.hpp"

namespace brood::detail {

// What the objects of one Api share.
class ApiState {
 public:
  explicit ApiState(const KnownRedis& known)
      : redis_([address = known.address] { return std::make_unique<ClientConnection>(address); }),
        max_dead_jobs_(known.dead.max_jobs),
        dead_seconds_(known.dead.timeout_seconds) {}

  // Gives `talk` sole use of this process's connection.  It must run no code that a user passed in.
  template <typename Talk>
  auto converse(Talk talk) {
    if (push_receiver())
      throw RedisError(
          "brood::Api shows what lies in Redis; while a brood::testing::Fake or Inline takes the pushes, ask the Fake");
    return redis_.use([&](ClientConnection& redis) {
      try {
        return talk(redis);
      } catch (const UnexpectedReply& reply) {
        throw RedisError("Redis at " + redis.name() + ": " + reply.what());
      }
    });
  }

  DeadLimits dead() const { return {max_dead_jobs_, dead_seconds_}; }
  void limit_dead(const DeadLimits& limits) {
    max_dead_jobs_ = limits.max_jobs;
    dead_seconds_ = limits.timeout_seconds;
  }

 private:
  PerProcess<ClientConnection> redis_;
  std::atomic<std::int64_t> max_dead_jobs_, dead_seconds_;  // no lock: a fork might leave it locked
};

}  // namespace brood::detail

namespace brood {

inline Time to_time(WallTime t) { return Time(std::chrono::duration_cast<Time::duration>(t.time_since_epoch())); }
inline WallTime wall_time(Time t) {
  return WallTime(std::chrono::duration_cast<WallTime::duration>(t.time_since_epoch()));
}

}  // namespace brood
