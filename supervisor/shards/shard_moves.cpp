#include "supervisor/shards/shard_moves.hpp"

#include <algorithm>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/config/shard_places.hpp"
#include "shared/store/in_flight/worker_death.hpp"
#include "supervisor/queues/idle_watch.hpp"
#include "supervisor/shards/shard.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto patience_with_one_away = 1s;

bool can_be_used(const Shard& shard) {
  return shard.is_served() && !shard.redis().is_away() && shard.redis().refusal().empty();
}

}  // namespace

ShardMoves::ShardMoves(std::string identity, WorkerSlots& slots, const Generations& generations, WorkerOrders& orders,
                       const Shards& shards)
    : identity_(std::move(identity)), slots_(slots), generations_(generations), orders_(orders), shards_(shards) {}

bool ShardMoves::are_several() const { return shards_.are_several(); }

// ---- Calling workers

std::vector<MovableWorker> ShardMoves::movable() {
  std::vector<MovableWorker> workers;
  const SteadyTime now = steady_now();
  for (const OccupiedSlot& slot : orders_.fetching_slots()) {
    const ProcessTable::Slot& taken = slots_.table[slot.slot];
    workers.push_back({.slot = slot.slot,
                       .capsule = slot.capsule,
                       .shard = taken.shard,
                       .wanted = taken.wanted_shard,
                       .goes_if_first = taken.goes_if_first,
                       .is_idle = idle_sign(*slot.record).idle,
                       .runs_a_job = slot.record->current.load() >= 0,
                       .runs_a_long_job = runs_a_long_job(*slot.record, now),
                       .since = taken.in_shard_since,
                       .called = taken.called_at});
  }
  return workers;
}

std::set<int> ShardMoves::capsules_to_call(int number) {
  if (!are_several()) return {};
  std::set<int> capsules = brood::capsules_to_call(number, movable());
  std::erase_if(capsules, [&](int capsule) { return !is_there(capsule, number) || !may_serve(capsule, number); });
  return capsules;
}

// A capsule of one worker runs jobs in order: what was left behind here goes back first.
bool ShardMoves::may_serve(int capsule, int number) const {
  if (shards_[number].recovery().fields_of(identity_).empty()) return true;
  const std::vector<CapsuleSettings> settings = generations_.capsules();
  // The capsules of a generation on trial are not in this list yet.
  const auto index = static_cast<std::size_t>(capsule);
  return index < settings.size() && settings[index].concurrency != 1;
}

bool ShardMoves::call(int number, const std::set<int>& capsules) {
  if (!is_usable(number)) return false;
  std::set<int> willing = capsules_to_call(number);
  std::erase_if(willing, [&](int capsule) { return !capsules.contains(capsule); });
  if (willing.empty()) return false;
  const Rebalance called = plan_rebalance(number, willing, movable(), steady_now());
  for (const int slot : called.slots) want(slot, number, called.only_the_first);
  return !called.slots.empty();
}

void ShardMoves::want(int slot, int number, bool if_first) {
  ProcessTable::Slot& taken = slots_.table[slot];
  taken.wanted_shard = number;
  taken.goes_if_first = if_first;
  taken.called_at = steady_now();
  slots_.board.slot(slot).wanted_shard.store(number);
  if (!if_first) orders_.wake(slot);  // a busy worker looks after its job
}

void ShardMoves::stay(int slot) {
  ProcessTable::Slot& taken = slots_.table[slot];
  taken.wanted_shard = taken.shard;
  taken.goes_if_first = false;
  slots_.board.slot(slot).wanted_shard.store(taken.shard);
}

void ShardMoves::leave_those_away(SteadyTime now) {
  if (!are_several()) return;
  for (const MovableWorker& worker : movable()) {
    const auto away_since = shards_[worker.shard].redis().away_since();
    if (!away_since || now - *away_since < patience_with_one_away || worker.runs_a_job) continue;
    if (worker.wanted != worker.shard && is_usable(worker.wanted)) continue;
    const int refuge = emptiest_usable(worker.capsule);
    if (refuge >= 0 && may_serve(worker.capsule, refuge)) want(worker.slot, refuge, false);
  }
}

// ---- Placing workers

bool ShardMoves::is_usable(int number) const { return can_be_used(shards_[number]); }

bool ShardMoves::is_there(int capsule, int number) const {
  return shards_[number].is_served() && !is_empty_place(generations_.of_index(capsule).config->redis, number);
}

int ShardMoves::first_usable() const {
  return shards_.first_where([](const Shard& shard) { return can_be_used(shard); }, 0);
}

int ShardMoves::place_near(int number, int capsule) const {
  std::vector<ShardToServe> all;
  for (int each = 0; each < shards_.size(); ++each)
    all.push_back(
        {.is_usable = is_usable(each), .is_in_order = may_serve(capsule, each), .is_there = is_there(capsule, each)});
  return choose_shard(number, all);
}

// -1 if there is none.
int ShardMoves::emptiest_usable(int capsule) const {
  std::vector<int> workers(static_cast<std::size_t>(shards_.size()));
  for (int slot = 0; slot < slots_.table.used_slots(); ++slot) {
    if (slots_.table.is_living(slot)) ++workers.at(static_cast<std::size_t>(slots_.table[slot].wanted_shard));
  }
  int best = -1;
  for (int number = 0; number < shards_.size(); ++number) {
    if (is_there(capsule, number) && is_usable(number) &&
        (best < 0 || workers[static_cast<std::size_t>(number)] < workers[static_cast<std::size_t>(best)]))
      best = number;
  }
  return best;
}

void ShardMoves::place_new(int slot, int capsule, int number) {
  enter(slot, place_near((capsule + number) % shards_.size(), capsule));
  stay(slot);
}

void ShardMoves::place_again(int slot) {
  if (!are_several()) return;
  ProcessTable::Slot& taken = slots_.table[slot];
  const int from = taken.shard, capsule = generations_.index_of(taken.generation, taken.capsule);
  // A finishing worker fetches nothing more, and its generation may not know every shard.
  const bool finishes = (taken.flags & slot_stop) != 0;
  const int rather = is_there(capsule, taken.wanted_shard) && is_usable(taken.wanted_shard) ? taken.wanted_shard : from;
  const int to = finishes ? from : place_near(rather, capsule);
  const bool was_the_first = taken.goes_if_first && to != from;
  enter(slot, to);
  stay(slot);
  if (was_the_first) {
    for (const OccupiedSlot& other : orders_.fetching_slots()) {
      const ProcessTable::Slot& called = slots_.table[other.slot];
      if (called.goes_if_first && called.wanted_shard == to && other.capsule == capsule) stay(other.slot);
    }
  }
  if (to == from) return;
  log::debug("worker_moves", {{"slot", slot}, {"from", from}, {"to", to}});
  shards_[from].look_who_waits();
  shards_[to].look_who_waits();
}

// The slot's worker moves to another shard.  Its counts until now belong to the previous one.
void ShardMoves::enter(int slot, int number) {
  ProcessTable::Slot& taken = slots_.table[slot];
  if (taken.shard == number) return;
  const SlotRecord& record = slots_.board.slot(slot);
  const Statistics::Counts counts{record.processed.load(), record.failed.load()};
  const SteadyTime now = steady_now();
  shards_[taken.shard].heartbeat().statistics().observe(slot, counts, now);
  shards_[number].heartbeat().statistics().start_from(slot, counts, now);
  taken.shard = number;
  taken.in_shard_since = now;
}

// If the worker was not called elsewhere and its shard answers, it cannot have left it: a job has written that byte.
bool ShardMoves::left_behind(int slot) {
  if (!are_several()) return false;
  const ProcessTable::Slot& taken = slots_.table[slot];
  if (taken.wanted_shard == taken.shard && is_usable(taken.shard)) return true;
  const SlotSnapshot seen = last_words(slots_.board.slot(slot));
  if (seen.current >= 0 || !seen.entries.empty()) return true;  // a job has written that byte
  WorkerDeath left;
  left.worker = {.identity = identity_,
                 .slot = slot,
                 .incarnation = taken.incarnation,
                 .record = std::nullopt,
                 .ended_by_brood = true};
  if (seen.incarnation == taken.incarnation) left.worker.record = record_of(seen);
  log::debug("incarnation_left_behind", {{"slot", slot}, {"shard", taken.shard}});
  shards_[taken.shard].recovery().add(std::move(left));
  return true;
}

void ShardMoves::redis_moved(int slot) { shards_[slots_.table[slot].shard].redis().look_for_master(); }

void ShardMoves::unblock(int slot) { shards_[slots_.table[slot].shard].unblocker().unblock(slots_.board.slot(slot)); }

}  // namespace brood
