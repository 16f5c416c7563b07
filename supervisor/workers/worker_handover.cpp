#include "supervisor/workers/worker_handover.hpp"

#include <memory>
#include <utility>

#include "shared/base/log.hpp"
#include "supervisor/upgrade/handover_file.hpp"

namespace brood {
namespace {

void adopt(const Handover::Worker& worker, WorkerSlots& slots, WorkerOrders& orders) {
  UniqueFd control = own_descriptor(worker.control), output = own_descriptor(worker.output);
  const int place = slots.table.add_place(worker.generation, worker.capsule, worker.number);
  slots.table.occupy(worker.slot, place, worker.pid, worker.occupied_since);
  ProcessTable::Slot& taken = slots.table[worker.slot];
  taken.incarnation = worker.incarnation;
  taken.shard = taken.wanted_shard = worker.shard;
  taken.flags = worker.flags;
  taken.waits_its_turn = worker.waits_its_turn;
  taken.never_fetched = worker.never_fetched;
  taken.processed_before = worker.processed_before;
  if (worker.ready_at != SteadyTime{}) slots.table.note_ready(worker.slot, worker.ready_at);
  if (worker.finishing) slots.table.remove_place(place);
  orders.connect(worker.slot, std::move(control), std::move(output), worker.output_token);
}

// Uses the files that this generation has loaded, whatever their paths contain now.
void go_by_held(const Handover::Generation& left, Config& config) {
  const auto held = std::make_shared<HeldFiles>();
  for (const HeldFiles::Entry& file : left.held) held->adopt(file, own_descriptor(file.descriptor));
  config.require = left.require;
  config.directory = left.directory;
  config.held = held;
  for (auto& [name, command] : config.commands) command.held = held;
  if (config.on_error) config.on_error->held = held;
}

}  // namespace

void hand_over_workers(Handover& handover, const WorkerSlots& slots, const Generations& generations,
                       const WorkerOrders& orders) {
  handover.last_incarnation = slots.table.last_incarnation();
  handover.used_slots = slots.table.used_slots();
  handover.present = generations.present_number();
  for (const auto& [number, generation] : generations.known()) {
    const Config& config = *generation->config;
    handover.generations.push_back({number, config.capsules, config.worker, config.require, config.directory,
                                    config.held ? config.held->entries() : std::vector<HeldFiles::Entry>()});
  }
  for (int slot = 0; slot < slots.table.used_slots(); ++slot) {
    const ProcessTable::Slot& taken = slots.table[slot];
    if (taken.pid == 0) continue;
    const WorkerOrders::Descriptors held = orders.descriptors_of(slot);
    handover.workers.push_back({.pid = taken.pid,
                                .slot = slot,
                                .generation = taken.generation,
                                .capsule = taken.capsule,
                                .number = taken.number,
                                .incarnation = taken.incarnation,
                                .shard = taken.shard,
                                .finishing = !slots.table.places().contains(taken.place),
                                .flags = taken.flags,
                                .waits_its_turn = taken.waits_its_turn,
                                .never_fetched = taken.never_fetched,
                                .processed_before = taken.processed_before,
                                .occupied_since = taken.occupied_since,
                                .ready_at = taken.ready_at.value_or(SteadyTime{}),
                                .control = held.control,
                                .output = held.output,
                                .output_token = held.output_token});
  }
}

Generations generations_of(const std::optional<Handover>& left, const WorkerSlots& slots, const Generation& first,
                           const ProgramOf& program_of) {
  if (!left || !slots.adopted()) return Generations(std::make_shared<const Generation>(first));
  Generations::Known known;
  for (const Handover::Generation& one : left->generations) {
    Config config = *first.config;
    config.capsules = one.capsules;
    config.worker = one.worker;
    if (!one.held.empty()) go_by_held(one, config);
    const auto shared = std::make_shared<const Config>(std::move(config));
    known[one.number] = std::make_shared<Generation>(Generation{one.number, shared, program_of(shared), true});
  }
  return Generations(std::move(known), left->present);
}

void adopt_workers(const Handover& left, WorkerSlots& slots, WorkerOrders& orders) {
  slots.table.resume(left.last_incarnation, left.used_slots);
  for (const Handover::Worker& worker : left.workers) adopt(worker, slots, orders);
  slots.note_adopted_readiness();
  log::info("workers_adopted", {{"workers", left.workers.size()}, {"ready", slots.table.ready()}});
}

Handover::Left left_by(WorkerDeath death, int shard, const ProcessTable& table) {
  Handover::Left left{.shard = shard, .death = std::move(death)};
  const DeadWorker& dead = left.death.worker;
  if (dead.slot < 0 || dead.slot >= table.slots()) return left;
  const ProcessTable::Slot& slot = table[dead.slot];
  if (slot.pid == 0 && slot.held && slot.incarnation == dead.incarnation)
    left.slot = {slot.generation, slot.capsule, slot.number, slot.never_fetched, slot.occupied_since, slot.ended_at};
  return left;
}

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

}  // namespace brood
