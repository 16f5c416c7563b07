// How one generation of workers follows the other; see worker_pool.hpp.

#include <algorithm>

#include "shared/base/log.hpp"
#include "supervisor/workers/worker_pool.hpp"

namespace brood {

void WorkerPool::make_room(const Config& config) {
  const int slots = std::max(slots_for(config), table_.slots());
  scoreboard_.grow(slots);
  table_.grow(slots);
  lines_.resize(static_cast<std::size_t>(slots));
}

void WorkerPool::bring(std::shared_ptr<const Generation> generation) {
  const std::vector<CapsuleSettings>& capsules = generation->config->capsules;
  make_room(*generation->config);
  for (std::size_t capsule = 0; capsule < capsules.size(); ++capsule) {
    for (int number = 0; number < capsules[capsule].concurrency; ++number) {
      const int key =
          table_.add_place(generation->number, static_cast<int>(capsule), number, ProcessTable::Place::State::waiting);
      table_.places().at(key).fresh = true;
    }
  }
  coming_ = generation->number;
  generations_[*coming_] = std::move(generation);
}

void WorkerPool::resize(std::shared_ptr<const Generation> generation, int capsule) {
  make_room(*generation->config);
  const int wanted = generation->config->capsules.at(static_cast<std::size_t>(capsule)).concurrency;
  int there = 0;
  for (const auto& [key, place] : table_.places()) there += place.capsule == capsule;
  for (int number = there; number < wanted; ++number) {
    const int key = table_.add_place(generation_, capsule, number, ProcessTable::Place::State::waiting);
    table_.places().at(key).fresh = true;
  }
  generations_[generation_] = std::move(generation);
  std::vector<int> surplus;
  for (const auto& [key, place] : table_.places()) {
    if (place.capsule == capsule && place.number >= wanted) surplus.push_back(key);
  }
  for (const int key : surplus) {
    give_up(key);
    table_.remove_place(key);
  }
}

std::vector<RollPlace> WorkerPool::roll_places() const {
  std::vector<RollPlace> seen;
  for (const auto& [key, place] : table_.places()) {
    RollPlace at{.key = key, .fresh = place.fresh};
    const auto& capsules = generations_.at(place.generation)->config->capsules;
    at.capsule = capsules.at(static_cast<std::size_t>(place.capsule)).name;
    if (place.state == ProcessTable::Place::State::waiting) {
      at.state = RollPlace::State::waiting;
    } else if (place.state == ProcessTable::Place::State::given_up) {
      at.state = RollPlace::State::given_up;
    } else if (!place.slot) {
      at.state = RollPlace::State::vacant;
    } else {
      const ProcessTable::Slot& taken = table_[*place.slot];
      const SlotRecord& record = scoreboard_.slot(*place.slot);
      at.state = taken.ready_at ? RollPlace::State::ready : RollPlace::State::starting;
      at.since = taken.ready_at.value_or(taken.occupied_since);
      at.began_a_job = record.processed.load() != taken.processed_before;
      at.busy = record.current.load() >= 0;
    }
    seen.push_back(std::move(at));
  }
  return seen;
}

void WorkerPool::give_up(int key) {
  ProcessTable::Place& place = table_.places().at(key);
  place.state = ProcessTable::Place::State::given_up;
  if (place.slot) finish(*place.slot);
}

void WorkerPool::finish(int slot) {
  table_[slot].flags |= slot_quiet | slot_stop;
  tell(slot, table_[slot].flags);
  log::debug("worker_told_to_finish", {{"slot", slot}, {"worker_pid", table_[slot].pid}});
}

void WorkerPool::adopt_fresh() {
  std::vector<int> gone;
  for (auto& [key, place] : table_.places()) {
    if (place.state == ProcessTable::Place::State::given_up) gone.push_back(key);
    place.fresh = false;
  }
  for (const int key : gone) table_.remove_place(key);
  generation_ = coming_.value_or(generation_);
  coming_.reset();
  forget_generations();
  note_whether_all_are_ready();
}

void WorkerPool::drop_fresh() {
  std::vector<int> gone;
  for (auto& [key, place] : table_.places()) {
    if (place.fresh) {
      gone.push_back(key);
      if (!place.slot) continue;
      ProcessTable::Slot& taken = table_[*place.slot];
      if (taken.ready_at) {
        finish(*place.slot);
      } else {
        if (taken.ended_by == EndedBy::itself) taken.ended_by = EndedBy::brood;
        kill_worker(taken.pid);
      }
    } else if (place.state == ProcessTable::Place::State::given_up) {
      place.state = ProcessTable::Place::State::kept;
      if (!place.slot) continue;
      // One that has heard it already leaves, and its place is filled again.
      table_[*place.slot].flags = 0;
      scoreboard_.slot(*place.slot).flags.store(flags_of(*place.slot));
      wake(*place.slot);
    }
  }
  for (const int key : gone) table_.remove_place(key);
  coming_.reset();
  forget_generations();
}

// Those that nobody goes by any more.
void WorkerPool::forget_generations() {
  std::erase_if(generations_, [&](const auto& known) {
    for (int slot = 0; slot < table_.used_slots(); ++slot) {
      if ((table_.is_living(slot) || table_[slot].held) && table_[slot].generation == known.first) return false;
    }
    return known.first != generation_;
  });
}

std::vector<CapsuleSettings> WorkerPool::capsules() const {
  std::vector<CapsuleSettings> all = generations_.at(generation_)->config->capsules;
  if (coming_) {
    const auto& fresh = generations_.at(*coming_)->config->capsules;
    all.insert(all.end(), fresh.begin(), fresh.end());
  }
  return all;
}

std::vector<OccupiedSlot> WorkerPool::fetching_slots() {
  std::vector<OccupiedSlot> fetching;
  const int present = static_cast<int>(generations_.at(generation_)->config->capsules.size());
  for (int slot = 0; slot < table_.used_slots(); ++slot) {
    const ProcessTable::Slot& taken = table_[slot];
    if (taken.pid == 0 || !taken.ready_at || taken.flags != 0 || taken.waits_its_turn) continue;
    const int capsule = taken.capsule + (taken.generation == generation_ ? 0 : present);
    fetching.push_back({slot, capsule, &scoreboard_.slot(slot)});
  }
  return fetching;
}

int WorkerPool::finishing() const {
  int finishing = 0;
  for (int slot = 0; slot < table_.used_slots(); ++slot)
    finishing += table_.is_living(slot) && (table_[slot].flags & slot_stop) != 0;
  return finishing;
}

}  // namespace brood
