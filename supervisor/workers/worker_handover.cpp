// How the workers pass from one program to the next in the same process; see worker_pool.hpp.

#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "shared/base/log.hpp"
#include "supervisor/workers/worker_pool.hpp"

namespace brood {
std::optional<WorkerPool::AdoptedWorkers> WorkerPool::AdoptedWorkers::of(const std::optional<Handover>& left,
                                                                         const Config& present,
                                                                         const BodiesFor& bodies) {
  if (!left) return std::nullopt;
  AdoptedWorkers adopted_workers{*left, {}};
  for (const Handover::Generation& known : left->generations) {
    Config config = present;
    config.capsules = known.capsules;
    config.worker = known.worker;
    const auto shared = std::make_shared<const Config>(std::move(config));
    adopted_workers.generations[known.number] =
        std::make_shared<Generation>(Generation{known.number, shared, bodies(shared)});
  }
  return adopted_workers;
}

void WorkerPool::hand_over(Handover& handover) const {
  handover.last_incarnation = table_.last_incarnation();
  handover.used_slots = table_.used_slots();
  handover.present = generation_;
  for (const auto& [number, generation] : generations_)
    handover.generations.push_back({number, generation->config->capsules, generation->config->worker});
  for (int slot = 0; slot < table_.used_slots(); ++slot) {
    const ProcessTable::Slot& taken = table_[slot];
    if (taken.pid == 0) continue;
    const Lines& held = lines_.at(static_cast<std::size_t>(slot));
    handover.workers.push_back({.pid = taken.pid,
                                .slot = slot,
                                .generation = taken.generation,
                                .capsule = taken.capsule,
                                .number = taken.number,
                                .incarnation = taken.incarnation,
                                .finishing = !table_.places().contains(taken.place),
                                .flags = taken.flags,
                                .waits_its_turn = taken.waits_its_turn,
                                .never_fetched = taken.never_fetched,
                                .processed_before = taken.processed_before,
                                .occupied_since = taken.occupied_since,
                                .ready_at = taken.ready_at.value_or(SteadyTime{}),
                                .control = held.control.get(),
                                .output = held.output ? held.output->descriptor() : -1,
                                .output_token = held.output ? held.output->token() : ""});
  }
}

// The one that was left, if it can be read.
Scoreboard WorkerPool::take_scoreboard() {
  const Config& config = *setup_.generation->config;
  if (setup_.adopted_workers) {
    const std::string path = scoreboard_path(setup_.runtime_directory, setup_.identity);
    try {
      Scoreboard board = Scoreboard::open(path, true);
      board.grow(std::max(board.slots(), slots_for(config)));
      return board;
    } catch (const std::runtime_error& error) {
      log::warn("scoreboard_not_adopted", {{"reason", error.what()}, {"hint", "the workers are replaced at once"}});
      ::unlink(path.c_str());  // its workers have it still
      board_is_readable_ = false;
    }
  }
  Scoreboard board = Scoreboard::create(setup_.runtime_directory, setup_.identity, slots_for(config));
  board.name_instance(setup_.instance);
  return board;
}

void WorkerPool::adopt(const Handover& handover) {
  generations_ = setup_.adopted_workers->generations;
  generation_ = handover.present;
  table_.resume(handover.last_incarnation, handover.used_slots);
  for (const Handover::Worker& worker : handover.workers) adopt(worker);
  for (int slot = 0; slot < table_.used_slots(); ++slot)
    dump_requests_ = std::max(dump_requests_, scoreboard_.slot(slot).dump.request.load());
  was_ready_ = table_.ready() > 0;
  log::info("workers_adopted", {{"workers", handover.workers.size()}, {"ready", table_.ready()}});
}

void WorkerPool::adopt(const Handover::Worker& worker) {
  UniqueFd control = own_descriptor(worker.control), output = own_descriptor(worker.output);
  const int place = table_.add_place(worker.generation, worker.capsule, worker.number);
  table_.occupy(worker.slot, place, worker.pid, worker.occupied_since);
  ProcessTable::Slot& taken = table_[worker.slot];
  taken.incarnation = worker.incarnation;
  taken.flags = worker.flags;
  taken.waits_its_turn = worker.waits_its_turn;
  taken.never_fetched = worker.never_fetched;
  taken.processed_before = worker.processed_before;
  if (worker.ready_at != SteadyTime{}) taken.ready_at = worker.ready_at;
  if (worker.finishing) table_.remove_place(place);
  connect(worker.slot, std::move(control), std::move(output), worker.output_token);
}

void WorkerPool::let_finish(const Handover& handover) {
  table_.resume(handover.last_incarnation, 0);
  predecessors_ = Predecessors(handover.workers);
  log::warn("workers_replaced", {{"workers", predecessors_.size()}});
}

// A place for each worker that the present generation is to have and has none for.
void WorkerPool::fill_capsules() {
  const std::vector<CapsuleSettings>& capsules = generations_.at(generation_)->config->capsules;
  for (int capsule = 0; capsule < static_cast<int>(capsules.size()); ++capsule) {
    for (int number = 0; number < capsules[static_cast<std::size_t>(capsule)].concurrency; ++number) {
      const bool there = std::any_of(table_.places().begin(), table_.places().end(), [&](const auto& known) {
        const ProcessTable::Place& place = known.second;
        return place.generation == generation_ && place.capsule == capsule && place.number == number;
      });
      if (!there) table_.add_place(generation_, capsule, number);
    }
  }
}

}  // namespace brood
