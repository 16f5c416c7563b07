#include "worker/shards/served_shard.hpp"

#include <algorithm>

#include "shared/base/redis_clock.hpp"
#include "shared/config/job_environment.hpp"
#include "shared/store/redis_time.hpp"

namespace brood {
namespace {

// The share of these caps that each shard has; an empty place has none.
std::vector<std::vector<CapSettings>> shares_of_caps(const std::vector<CapSettings>& caps,
                                                     const std::vector<RedisAddress>& shards) {
  const auto is_there = [](const RedisAddress& shard) { return !shard.is_empty_place; };
  const auto there = static_cast<std::size_t>(std::count_if(shards.begin(), shards.end(), is_there));
  std::vector<std::vector<CapSettings>> all;
  std::size_t next = 0;
  for (const RedisAddress& shard : shards)
    all.push_back(is_there(shard) ? share_of(caps, next++, there) : std::vector<CapSettings>{});
  return all;
}

}  // namespace

ServedShard::ServedShard(const Config& config, const WorkerSetup& setup, const std::vector<RedisAddress>& shards,
                         SupervisorOrders& orders)
    : config_(config),
      setup_(setup),
      shards_(shards),
      orders_(orders),
      caps_(shares_of_caps(config.capsules.at(static_cast<std::size_t>(setup.capsule)).caps, shards)),
      number_(assigned()),
      redis_(address(), {}, "brood-worker-" + std::to_string(setup.slot)),
      limits_(shards, number_, redis_, "brood-limits-" + std::to_string(setup.slot)) {
  forget_time_of_another(address());
  serve();
}

bool ServedShard::is_wanted_elsewhere() const {
  return is_one_of_several() && setup_.record->wanted_shard.load() != static_cast<std::int32_t>(number_);
}

void ServedShard::tell_jobs() const { tell_shard(config_.redis.share_with_jobs ? name() : ""); }

bool ServedShard::follow_incarnation() {
  const std::size_t shard = assigned();
  setup_.record->own_shard.store(static_cast<std::int32_t>(shard));
  if (shard == number_) return false;
  number_ = shard;
  tell_jobs();
  redis_.move_to(address());
  serve();
  forget_redis_time();
  return true;
}

std::size_t ServedShard::assigned() const {
  const auto shard = static_cast<std::size_t>(std::max(setup_.record->shard.load(), 0));
  if (shard < shards_.size() && !shards_[shard].is_empty_place) return shard;
  // A job has scribbled over the record, so take any shard.
  const auto first =
      std::find_if(shards_.begin(), shards_.end(), [](const RedisAddress& one) { return !one.is_empty_place; });
  return static_cast<std::size_t>(first - shards_.begin());
}

void ServedShard::serve() {
  if (setup_.beats) {
    redis_.follow(&setup_.beats->at(number_).redis_moves);
    redis_.on_another_server([this] { orders_.say(ControlByte::redis_moved); });
  }
  orders_.serve(static_cast<int>(number_));
}

}  // namespace brood
