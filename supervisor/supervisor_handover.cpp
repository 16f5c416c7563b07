// How a supervisor hands over to the next program in the same process; see supervisor.hpp.

#include <algorithm>
#include <chrono>
#include <utility>

#include "shared/base/log.hpp"
#include "supervisor/supervisor.hpp"
#include "supervisor/version.hpp"
#include "supervisor/workers/worker_handover.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_pause_of_recoveries = 20s;  // shorter than a worker waits for a dead one's recovery

}  // namespace

Handover Supervisor::hand_over() {
  fleet_.pressure.let_go();
  Handover handover;
  handover.version = version;
  handover.identity = identity_;
  handover.redis = describe_shards(&RedisLink::address);
  handover.started_at = started_at_;
  handover.quiet = phases_.now() == Phase::quiet;
  handover.roll_is_owed = fleet_.owes_a_roll();
  handover.log = log::descriptor();
  if (config_->file.mode != 0) handover.former_config = {config_->file.text, config_->file.mode};
  handover.control_listener = operators_.listener();
  for (Shard& shard : shards_) {
    Heartbeat& heartbeat = shard.heartbeat();
    Handover::Shard left;
    for (const auto& [slot, counts] : heartbeat.statistics().observed()) left.counted.push_back({slot, counts});
    left.uncounted = heartbeat.statistics().unflushed();
    left.beat_tokens = heartbeat.tokens().told();
    left.is_empty_place = !shard.is_served();
    for (WorkerDeath& death : shard.recovery().dead_workers_of(identity_.name))
      handover.left.push_back(left_by(std::move(death), shard.number(), fleet_.slots.table));
    if (shard.number() > 0) {
      handover.other_shards.push_back(std::move(left));
      continue;
    }
    handover.counted = std::move(left.counted);
    handover.uncounted = left.uncounted;
    handover.beat_tokens = std::move(left.beat_tokens);
    handover.is_empty_place = left.is_empty_place;
  }
  handover.classes = metrics_.known();
  hand_over_workers(handover, fleet_.slots, fleet_.generations, fleet_.orders);
  fleet_.pool.hand_over(handover);
  return handover;
}

void Supervisor::take_over(const Handover& handover) {
  const bool same_memory = fleet_.slots.adopted();
  const auto resume = [same_memory](Statistics& statistics, const std::vector<Handover::Counted>& counted,
                                    Statistics::Counts uncounted) {
    for (const auto& [slot, counts] : counted) {
      if (same_memory) statistics.start_from(slot, counts, steady_now());
    }
    statistics.add_unflushed(uncounted);
  };
  resume(shards_.first().heartbeat().statistics(), handover.counted, handover.uncounted);
  for (int other = 1; shards_.has(other) && other <= static_cast<int>(handover.other_shards.size()); ++other) {
    const Handover::Shard& left = handover.other_shards[static_cast<std::size_t>(other - 1)];
    resume(shards_[other].heartbeat().statistics(), left.counted, left.uncounted);
  }
  metrics_.resume(handover.classes, same_memory, steady_now());
  for (const Handover::Left& left : handover.left) {
    if (!shards_.has(left.shard)) continue;
    if (same_memory && shards_[left.shard].is_served()) hold_slot(left, fleet_.slots.table, fleet_.generations);
    shards_[left.shard].recovery().add(left.death);
  }
  if (!handover.left.empty()) log::info("recoveries_taken_over", {{"workers", handover.left.size()}});
  if (!same_memory) {  // its generations are not known any more
    registered_periodic_.remove_file();
    builds_.remove_file();
  }
  took_over_ = true;
  if (handover.roll_is_owed) fleet_.owe_a_roll();
  if (!handover.quiet) return;
  phases_.order(Order::quiet);
  enter_phases();
}

void Supervisor::advance_upgrade(SteadyTime now) {
  upgrade_.advance(now, upgrade_.waits() ? half_done(now) : "");
  for (const Upgrade::News news : upgrade_.take_news()) {
    if (news == Upgrade::News::given_up) {
      for (Shard& shard : shards_) shard.recovery().resume();
      recoveries_pause_until_.reset();
    }
    report_status();
  }
}

// Describes what the next program could not continue; empty if it can continue everything.
//
// Once nothing long is left, no further recovery begins: otherwise an upgrade could wait forever where worker after
// worker crashes.  Workers wait for recoveries, so this pause is limited.
std::string Supervisor::half_done(SteadyTime now) {
  const std::string long_work = long_work_under_way();
  if (long_work.empty() && !recoveries_pause_until_) recoveries_pause_until_ = now + longest_pause_of_recoveries;
  const bool pauses = long_work.empty() && now < *recoveries_pause_until_;
  for (Shard& shard : shards_) pauses ? shard.recovery().pause() : shard.recovery().resume();
  if (!long_work.empty()) return long_work;
  for (const Shard& shard : shards_) {
    if (!shard.recovery().may_be_left()) return "jobs of workers that died are being recovered";
  }
  if (fleet_.pool.awaits_newborn()) return "a worker is being forked";
  for (const Shard& shard : shards_) {
    if (shard.heartbeat().beating()) return "a heartbeat is under way";
  }
  return "";
}

std::string Supervisor::long_work_under_way() const {
  if (fleet_.restart.under_way()) return "a restart is under way";
  for (const Shard& shard : shards_) {
    if (shard.is_leaving()) return "a shard is being taken out";
    if (shard.recovery().works_for_another()) return "jobs of a supervisor that died are being recovered";
  }
  return fleet_.pool.job_ender().under_way() ? "a job is being ended" : "";
}

}  // namespace brood
