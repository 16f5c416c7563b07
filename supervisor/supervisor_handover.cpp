// How a supervisor passes from one program to the next in the same process; see supervisor.hpp.

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

constexpr auto longest_pause_of_recoveries = 20s;  // shorter than a worker waits whose turn comes after a dead one's

Handover::Left left_by(WorkerDeath death, int shard, const ProcessTable& table) {
  Handover::Left left{.shard = shard, .death = std::move(death)};
  const DeadWorker& dead = left.death.worker;
  if (dead.slot < 0 || dead.slot >= table.slots()) return left;
  const ProcessTable::Slot& slot = table[dead.slot];
  if (slot.pid == 0 && slot.held && slot.incarnation == dead.incarnation)
    left.slot = {slot.generation, slot.capsule, slot.number, slot.never_fetched, slot.occupied_since, slot.ended_at};
  return left;
}

// A slot of which no sense can be made is free at once: nothing is lost by that.
void hold_slot(const Handover::Left& left, ProcessTable& table, const Generations& generations) {
  const int slot = left.death.worker.slot;
  if (!left.slot || slot < 0 || slot >= table.slots() || table.is_living(slot)) return;
  const auto generation = generations.known().find(left.slot->generation);
  if (generation == generations.known().end() || left.slot->capsule < 0 ||
      left.slot->capsule >= static_cast<int>(generation->second->config->capsules.size()))
    return;
  ProcessTable::Slot last;
  last.generation = left.slot->generation;
  last.capsule = left.slot->capsule;
  last.number = left.slot->number;
  last.incarnation = left.death.worker.incarnation;
  last.shard = last.wanted_shard = left.shard;
  last.never_fetched = left.slot->never_fetched;
  last.occupied_since = left.slot->occupied_since;
  last.ended_at = left.slot->ended_at;
  table.hold(slot, last);
}

}  // namespace

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
    for (WorkerDeath& death : shard->recovery().dead_workers_of(identity_.name))
      handover.left.push_back(left_by(std::move(death), shard->number(), slots_.table));
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
    if (same_memory && shards_[static_cast<std::size_t>(left.shard)]->is_served())
      hold_slot(left, slots_.table, generations_);
    shards_[static_cast<std::size_t>(left.shard)]->recovery().add(left.death);
  }
  if (!handover.left.empty()) log::info("recoveries_taken_over", {{"workers", handover.left.size()}});
  if (!same_memory) registered_periodic_.remove_file();  // its generations are not known any more
  took_over_ = true;
  roll_is_owed_ = handover.roll_is_owed;
  if (handover.quiet) order(Order::quiet);
}

// What the next program could not go on with.  Once nothing is left that may take long, no recovery begins: where
// worker after worker crashes there would be no end.  But workers wait for them, so that has an end too.
std::string Supervisor::half_done() {
  const std::string long_work = long_work_under_way();
  const SteadyTime now = steady_now();
  if (long_work.empty() && !recoveries_pause_until_) recoveries_pause_until_ = now + longest_pause_of_recoveries;
  if (long_work.empty() && now < *recoveries_pause_until_)
    pause_recoveries();
  else
    resume_recoveries();
  if (!long_work.empty()) return long_work;
  for (const auto& shard : shards_) {
    if (!shard->recovery().may_be_left()) return "jobs of workers that died are being recovered";
  }
  if (pool_.awaits_newborn()) return "a worker is being forked";
  for (const auto& shard : shards_) {
    if (shard->heartbeat().beating()) return "a heartbeat is under way";
  }
  return "";
}

std::string Supervisor::long_work_under_way() const {
  if (restart_.under_way()) return "a restart is under way";
  for (const auto& shard : shards_) {
    if (shard->is_leaving()) return "a shard is being taken out";
    if (shard->recovery().works_for_another()) return "jobs of a supervisor that died are being recovered";
  }
  return pool_.job_ender().under_way() ? "a job is being ended" : "";
}

void Supervisor::pause_recoveries() {
  for (const auto& shard : shards_) shard->recovery().pause();
}

void Supervisor::resume_recoveries() {
  for (const auto& shard : shards_) shard->recovery().resume();
}

void Supervisor::upgrade_given_up() {
  resume_recoveries();
  recoveries_pause_until_.reset();
  report_status();
}

}  // namespace brood
