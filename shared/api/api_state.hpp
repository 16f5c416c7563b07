#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <brood/api.hpp>

#include "shared/api/push/client_connection.hpp"
#include "shared/api/push/known_redis.hpp"
#include "shared/api/push/per_process.hpp"
#include "shared/api/push/push_receiver.hpp"
#include "shared/base/clock.hpp"
#include "shared/base/time_unit.hpp"
#include "shared/store/report/ruby_processes.hpp"

namespace brood::detail {

// One shard of an Api, which may be its only one.
class ApiState {
 public:
  ApiState(const RedisAddress& address, const DeadLimits& dead, std::optional<TimeUnit> times)
      : shard_(address.shard),
        is_drained_(address.is_drained),
        times_(times),
        redis_([this, address] {
          auto connection = std::make_unique<ClientConnection>(address);
          if (timeouts_) connection->set_timeouts(*timeouts_);
          return connection;
        }),
        max_dead_jobs_(dead.max_jobs),
        dead_seconds_(dead.timeout_seconds) {}

  const std::string& shard() const { return shard_; }  // its name; empty: there is no other

  bool is_drained() const { return is_drained_; }  // nothing new is to lie there

  // Gives `talk` sole use of this process's connection.  It must run no code that a user passed in.
  template <typename Talk>
  auto converse(Talk talk) {
    if (const auto receiver = push_receiver(); receiver && receiver->stands_for_redis())
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

  // Before the first conversation.
  void limit_waits(const Connection::Timeouts& timeouts) { timeouts_ = timeouts; }

  // In a conversation: the unit of the times that a job is given which has none.
  TimeUnit times(ClientConnection& redis) {
    if (times_) return *times_;
    return times_beside(
        fleet_.oldest([&redis](const std::vector<Command>& commands) { return redis.pipeline(commands); }));
  }

  DeadLimits dead() const { return {max_dead_jobs_, dead_seconds_}; }
  void limit_dead(const DeadLimits& limits) {
    max_dead_jobs_ = limits.max_jobs;
    dead_seconds_ = limits.timeout_seconds;
  }

 private:
  std::string shard_;
  bool is_drained_;
  std::optional<TimeUnit> times_;  // nullopt: as the fleet does
  FleetRelease fleet_;
  std::optional<Connection::Timeouts> timeouts_;  // nullopt: the usual
  PerProcess<ClientConnection> redis_;
  std::atomic<std::int64_t> max_dead_jobs_, dead_seconds_;  // no lock: a fork might leave it locked
};

// The shards of an Api, in the order of the configuration.  All objects of the Api share them.
class ApiShards {
 public:
  explicit ApiShards(const KnownRedis& known) {
    for (const RedisAddress& address : known.shards)
      shards_.push_back(std::make_shared<ApiState>(address, known.dead, known.times));
  }
  explicit ApiShards(std::shared_ptr<ApiState> only) : shards_{std::move(only)} {}

  using OnAway = std::function<void(const std::string& shard, const std::string& why)>;
  void on_away(OnAway on_away) { on_away_ = std::move(on_away); }

  bool several() const { return shards_.size() > 1; }
  const std::vector<std::shared_ptr<ApiState>>& all() const { return shards_; }
  ApiState& only() const { return *shards_.front(); }
  std::shared_ptr<ApiState> named(std::string_view name) const {
    for (const auto& shard : shards_) {
      if (shard->shard() == name) return shard;
    }
    return nullptr;
  }

  // Asks one shard after the other.  A shard that is away is reported to on_away() and left out.  Without on_away(),
  // and when all are away, the first one's exception is thrown after the others were asked.
  template <typename Ask>
  void each(Ask ask) const {
    if (!several()) return ask(only());
    std::exception_ptr trouble;
    std::size_t away = 0;
    for (const auto& shard : shards_) {
      std::exception_ptr why = left_out(*shard, ask);
      if (!why) continue;
      ++away;
      if (!trouble) trouble = why;
    }
    if (trouble && (away == shards_.size() || !on_away_)) std::rethrow_exception(trouble);
  }

  // The sum of what they answer.
  template <typename Ask>
  auto sum(Ask ask) const {
    decltype(ask(only())) all{};
    each([&](ApiState& shard) { all += ask(shard); });
    return all;
  }

  // Asks the shard with that name.  If there is no such shard, asks all until one returns true.
  template <typename Ask>
  bool any(std::string_view name, Ask ask) const {
    if (!several()) return ask(only());
    if (const auto one = named(name)) return ask(*one);
    bool found = false;
    each([&](ApiState& shard) { found = found || ask(shard); });
    return found;
  }

  // For walks with many questions to one shard.  Returns false if the shard is away, after on_away() was called.
  template <typename Ask>
  bool goes_on(ApiState& shard, Ask ask) const {
    if (!several()) return ask(shard), true;
    const std::exception_ptr why = left_out(shard, ask);
    if (why && !on_away_) std::rethrow_exception(why);
    return !why;
  }

 private:
  template <typename Ask>
  std::exception_ptr left_out(ApiState& shard, Ask& ask) const {
    std::string why;
    std::exception_ptr away;
    try {
      ask(shard);
    } catch (const RedisLost& lost) {
      if (lost.why == Loss::too_large) throw;
      away = std::current_exception();
      why = lost.what();
    }
    if (away && on_away_) on_away_(shard.shard(), why);
    return away;
  }

  std::vector<std::shared_ptr<ApiState>> shards_;  // one at least
  OnAway on_away_;
};

}  // namespace brood::detail

namespace brood {

inline Time to_time(WallTime t) { return Time(std::chrono::duration_cast<Time::duration>(t.time_since_epoch())); }
inline WallTime wall_time(Time t) {
  return WallTime(std::chrono::duration_cast<WallTime::duration>(t.time_since_epoch()));
}

}  // namespace brood
