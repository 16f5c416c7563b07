#include "supervisor/readiness.hpp"

#include <sysexits.h>

#include <algorithm>
#include <csignal>

#include "shared/base/log.hpp"

namespace brood {
namespace {

// True only if an operator must correct a library or the configuration.  Any other end before readiness, such as an
// exception at startup or a kill, may not happen again: the slot is refilled after a pause.
bool refused_to_start(const EndedWorker& worker) {
  return !worker.exit.ready_at && worker.exit.status.exited && worker.exit.status.value == EX_CONFIG;
}

// A library that crashes each process which loads it is unusable too.  But a crash in a startup handler may pass, as an
// exception there may: a database may not be there yet.
bool crashed_while_starting(const EndedWorker& worker) {
  if (worker.exit.ready_at || worker.end.began_a_job || worker.end.in_order || ended_in_a_handler(worker.exit.last))
    return false;
  return worker.exit.status.exited ? worker.exit.status.value != EX_CONFIG && worker.exit.status.value != EX_TEMPFAIL
                                   : worker.exit.status.value != SIGKILL && worker.exit.status.value != SIGTERM;
}

}  // namespace

// We start an embedded Redis ourselves, so while it is away it counts as untried.
bool Readiness::redis_stands_in_the_way() const {
  bool one_is_untried = false, one_refuses = false, one_is_usable = false;
  shards_.each([&](const Shard& shard) {
    const RedisLink& redis = shard.redis();
    const bool refuses = !redis.refusal().empty();
    one_is_usable |= redis.was_usable();
    if (redis.was_usable()) return;
    one_is_untried |= !refuses && (!redis.is_away() || redis.is_embedded());
    one_refuses |= refuses;
  });
  return one_is_untried || (one_refuses && !one_is_usable);
}

void Readiness::look() {
  if (said_ || !pool_.was_ready() || redis_stands_in_the_way()) return;
  said_ = true;
  service_.ready();
  const bool redis_is_away = shards_.any([](const Shard& shard) { return !shard.redis().connected(); });
  log::info("ready",
            {{"workers", pool_.ready()}, {"of", pool_.size()}, {"redis", redis_is_away ? "away" : "connected"}});
}

bool Readiness::is_hopeless_after(const EndedWorker& worker) {
  if (refused_to_start(worker)) {
    crashes_[worker.exit.place] = crashes_that_refuse;
    return is_hopeless();
  }
  if (!crashed_while_starting(worker)) return false;
  ++crashes_[worker.exit.place];
  return is_hopeless();
}

bool Readiness::is_hopeless() const {
  if (pool_.was_ready() || pool_.ready() > 0) return false;
  const auto refused = std::count_if(crashes_.begin(), crashes_.end(),
                                     [](const auto& place) { return place.second >= crashes_that_refuse; });
  return refused >= pool_.size();
}

}  // namespace brood
