// How a supervisor passes from one program to the next in the same process; see supervisor.hpp.

#include <algorithm>

#include "shared/base/log.hpp"
#include "supervisor/supervisor.hpp"
#include "supervisor/version.hpp"
#include "supervisor/workers/worker_handover.hpp"

namespace brood {

Handover Supervisor::hand_over() {
  pressure_.let_go();
  Handover handover;
  handover.version = version;
  handover.identity = identity_;
  handover.redis = describe_shards(&RedisLink::address);
  handover.started_at = started_at_;
  handover.quiet = phase_ == Phase::quiet;
  handover.roll_is_owed = roll_is_owed_;
  handover.log = log::descriptor();
  if (config_->file.mode != 0) handover.former_config = {config_->file.text, config_->file.mode};
  handover.control_listener = control_socket_ ? control_socket_->listener() : -1;
  for (const auto& shard : shards_) {
    Heartbeat& heartbeat = shard->heartbeat();
    Handover::Shard left;
    for (const auto& [slot, counts] : heartbeat.statistics().observed()) left.counted.push_back({slot, counts});
    left.uncounted = heartbeat.statistics().unflushed();
    left.beat_tokens = heartbeat.tokens().told();
    left.is_empty_place = !shard->is_served();
    if (left.is_empty_place) handover.format = Handover::format_of_empty_places;
    for (WorkerDeath& death : shard->recovery().dead_workers_of(identity_.name))
      handover.left.push_back({shard->number(), std::move(death)});
    if (shard != shards_.front()) {
      handover.other_shards.push_back(std::move(left));
      continue;
    }
    handover.counted = std::move(left.counted);
    handover.uncounted = left.uncounted;
    handover.beat_tokens = std::move(left.beat_tokens);
    handover.is_empty_place = left.is_empty_place;
  }
  handover.classes = metrics_.known();
  hand_over_workers(handover, slots_, generations_, orders_);
  pool_.hand_over(handover);
  return handover;
}

void Supervisor::take_over(const Handover& handover) {
  const bool same_memory = slots_.adopted();
  const auto resume = [same_memory](Statistics& statistics, const std::vector<Handover::Counted>& counted,
                                    Statistics::Counts uncounted) {
    for (const auto& [slot, counts] : counted) {
      if (same_memory) statistics.start_from(slot, counts, steady_now());
    }
    statistics.add_unflushed(uncounted);
  };
  resume(shards_.front()->heartbeat().statistics(), handover.counted, handover.uncounted);
  for (std::size_t other = 1; other < std::min(shards_.size(), handover.other_shards.size() + 1); ++other) {
    const Handover::Shard& left = handover.other_shards[other - 1];
    resume(shards_[other]->heartbeat().statistics(), left.counted, left.uncounted);
  }
  metrics_.resume(handover.classes, same_memory, steady_now());
  for (const Handover::Left& left : handover.left) {
    if (static_cast<std::size_t>(left.shard) >= shards_.size()) continue;
    shards_[static_cast<std::size_t>(left.shard)]->recovery().add(left.death);
  }
  if (!same_memory) registered_periodic_.remove_file();  // its generations are not known any more
  took_over_ = true;
  roll_is_owed_ = handover.roll_is_owed;
  if (handover.quiet) order(Order::quiet);
}

// What the next program could not go on with.
std::string Supervisor::half_done() const {
  if (restart_.under_way()) return "a restart is under way";
  for (const auto& shard : shards_) {
    if (!shard->recovery().may_be_handed_over(shard->redis().connected()))
      return "jobs of workers that died are being recovered";
  }
  for (const auto& shard : shards_) {
    if (shard->is_leaving()) return "a shard is being taken out";
  }
  if (pool_.job_ender().under_way()) return "a job is being ended";
  if (pool_.awaits_newborn()) return "a worker is being forked";
  for (const auto& shard : shards_) {
    if (shard->heartbeat().beating()) return "a heartbeat is under way";
  }
  return "";
}

}  // namespace brood
