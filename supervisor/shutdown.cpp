#include "supervisor/shutdown.hpp"

#include <algorithm>

#include "shared/base/log.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto time_to_recover = 5s;
constexpr auto time_for_redis = 10s;
constexpr auto look_at_redis = 20ms;  // a server that another supervisor started is not our child

}  // namespace

void Shutdown::begin(SteadyTime now) {
  if (step_ != Step::not_yet) return;
  for (Shard& shard : shards_) shard.orphan_watch().stop();
  step_ = Step::recovering;
  deadline_ = now + time_to_recover;
}

void Shutdown::advance(SteadyTime now) {
  go_on(now);
  wake_.start_at(next_look(now));
}

void Shutdown::go_on(SteadyTime now) {
  switch (step_) {
    case Step::recovering:
      recover(now);
      return;
    case Step::stopping_redis: {
      RedisLink& redis = shards_.first().redis();  // an embedded Redis is the only shard
      if (redis.server_runs() && now < deadline_) return;
      if (redis.server_runs()) redis.kill_server();
      step_ = Step::done;
      return;
    }
    case Step::reporting:
      if (!shards_.any([](const Shard& shard) { return shard.heartbeat().is_finishing(); })) stop_redis(now);
      return;
    case Step::not_yet:
    case Step::done:
      return;
  }
}

bool Shutdown::recovered_our_own() const { return unrecovered() == 0; }

std::size_t Shutdown::unrecovered() const {
  std::size_t workers = 0;
  for (const Shard& shard : shards_) workers += shard.recovery().fields_of(identity_).size();
  return workers;
}

void Shutdown::recover(SteadyTime now) {
  bool one_recovers = false;
  for (const Shard& shard : shards_) one_recovers |= !has_recovered_our_own(shard) && shard.redis().connected();
  if (one_recovers && now < deadline_) return;
  if (!recovered_our_own())
    log::warn("workers_not_recovered",
              {{"workers", unrecovered()},
               {"reason", one_recovers ? "there was no time" : "Redis does not answer"},
               {"hint", "a job that one of them had fetched stays in flight; the next start recovers it"}});
  report();
  go_on(now);
}

// If jobs are left in flight in a shard, this process stays in Sidekiq's list there, so that they are found.
void Shutdown::report() {
  step_ = Step::reporting;
  shards_.each([&](Shard& shard) {
    if (has_recovered_our_own(shard)) shard.heartbeat().finish();
  });
}

void Shutdown::stop_redis(SteadyTime now) {
  step_ = shards_.first().redis().stop_server() ? Step::stopping_redis : Step::done;
  deadline_ = now + time_for_redis;
}

std::optional<SteadyTime> Shutdown::next_look(SteadyTime now) const {
  if (step_ == Step::recovering) return deadline_;
  if (step_ == Step::stopping_redis) return std::min(deadline_, now + look_at_redis);
  return std::nullopt;
}

}  // namespace brood
