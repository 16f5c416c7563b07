#include "supervisor/workers/worker_succession.hpp"

#include <set>
#include <utility>

#include "supervisor/workers/end/end_overdue_jobs.hpp"

namespace brood {

void WorkerSuccession::bring(std::shared_ptr<const Generation> generation) {
  const std::vector<CapsuleSettings>& capsules = generation->config->capsules;
  slots_.make_room(*generation->config);
  for (std::size_t capsule = 0; capsule < capsules.size(); ++capsule) {
    for (int number = 0; number < capsules[capsule].concurrency; ++number) {
      const int key = slots_.table.add_place(generation->number, static_cast<int>(capsule), number,
                                             ProcessTable::Place::State::waiting);
      slots_.table.places().at(key).fresh = true;
    }
  }
  generations_.bring(std::move(generation));
}

void WorkerSuccession::resize(std::shared_ptr<const Generation> generation, int capsule) {
  slots_.make_room(*generation->config);
  const int wanted = generation->config->capsules.at(static_cast<std::size_t>(capsule)).concurrency;
  int there = 0;
  for (const auto& [key, place] : slots_.table.places()) there += place.capsule == capsule;
  for (int number = there; number < wanted; ++number) {
    const int key = slots_.table.add_place(present()->number, capsule, number, ProcessTable::Place::State::waiting);
    slots_.table.places().at(key).fresh = true;
  }
  generations_.replace_present(std::move(generation));
  std::vector<int> surplus;
  for (const auto& [key, place] : slots_.table.places()) {
    if (place.capsule == capsule && place.number >= wanted) surplus.push_back(key);
  }
  for (const int key : surplus) {
    give_up(key);
    slots_.table.remove_place(key);
  }
}

std::vector<RollPlace> WorkerSuccession::roll_places() const {
  std::vector<RollPlace> seen;
  for (const auto& [key, place] : slots_.table.places()) {
    RollPlace at{.key = key, .fresh = place.fresh};
    at.capsule = generations_.capsule(place.generation, place.capsule).name;
    if (place.state == ProcessTable::Place::State::waiting) {
      at.state = RollPlace::State::waiting;
    } else if (place.state == ProcessTable::Place::State::given_up) {
      at.state = RollPlace::State::given_up;
    } else if (!place.slot) {
      at.state = RollPlace::State::vacant;
    } else {
      const ProcessTable::Slot& taken = slots_.table[*place.slot];
      const SlotRecord& record = slots_.board.slot(*place.slot);
      at.state = taken.ready_at ? RollPlace::State::ready : RollPlace::State::starting;
      at.since = taken.ready_at.value_or(taken.occupied_since);
      at.began_a_job = record.processed.load() != taken.processed_before;
      at.busy = record.current.load() >= 0;
    }
    seen.push_back(std::move(at));
  }
  return seen;
}

std::set<int> WorkerSuccession::fresh_classes() const {
  std::set<int> classes;
  for (const auto& [key, place] : slots_.table.places()) {
    if (!place.fresh || !place.slot) continue;
    const SlotRecord& record = slots_.board.slot(*place.slot);
    const int current = record.current.load();
    if (current < 0 || current >= max_run_notes) continue;
    const RunNote note = RunNote::read(record.run_notes[static_cast<std::size_t>(current)].run.load());
    if (note.state != RunNote::State::none) classes.insert(note.class_index);
  }
  return classes;
}

void WorkerSuccession::give_up(int key) {
  ProcessTable::Place& place = slots_.table.places().at(key);
  place.state = ProcessTable::Place::State::given_up;
  if (place.slot) orders_.finish(*place.slot);
}

void WorkerSuccession::adopt_fresh() {
  std::vector<int> gone;
  for (auto& [key, place] : slots_.table.places()) {
    if (place.state == ProcessTable::Place::State::given_up) gone.push_back(key);
    place.fresh = false;
  }
  for (const int key : gone) slots_.table.remove_place(key);
  generations_.take_the_coming_one();
  forget_generations();
  slots_.note_readiness();
}

void WorkerSuccession::drop_fresh() {
  std::vector<int> gone;
  for (auto& [key, place] : slots_.table.places()) {
    if (place.fresh) {
      gone.push_back(key);
      if (!place.slot) continue;
      ProcessTable::Slot& taken = slots_.table[*place.slot];
      if (taken.ready_at) {
        orders_.finish(*place.slot);
      } else {
        if (taken.ended_by == EndedBy::itself) taken.ended_by = EndedBy::brood;
        kill_worker(taken.pid);
      }
    } else if (place.state == ProcessTable::Place::State::given_up) {
      place.state = ProcessTable::Place::State::kept;
      if (!place.slot) continue;
      // A worker that has already seen the order leaves, and its place is filled again.
      orders_.take_back_finish(*place.slot);
    }
  }
  for (const int key : gone) slots_.table.remove_place(key);
  generations_.drop_the_coming_one();
  forget_generations();
}

// Forgets the generations without workers.
void WorkerSuccession::forget_generations() {
  std::set<std::uint32_t> in_use;
  for (int slot = 0; slot < slots_.table.used_slots(); ++slot) {
    if (slots_.table.is_living(slot) || slots_.table[slot].held) in_use.insert(slots_.table[slot].generation);
  }
  generations_.keep(in_use);
}

}  // namespace brood
