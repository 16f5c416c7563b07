#include "supervisor/workers/worker_turns.hpp"

#include <set>

namespace brood {

std::vector<TurnTaker> WorkerTurns::turn_takers() const {
  std::vector<TurnTaker> takers;
  for (int slot = 0; slot < slots_.table.used_slots(); ++slot) {
    const ProcessTable::Slot& taken = slots_.table[slot];
    if (taken.pid == 0 && !taken.held) continue;
    const CapsuleSettings& capsule = generations_.capsule(taken.generation, taken.capsule);
    takers.push_back({.slot = slot,
                      .capsule = capsule.name,
                      .alone = capsule.concurrency == 1,
                      .since = taken.occupied_since,
                      .finishing = (taken.flags & slot_stop) != 0,
                      .never_fetched = taken.never_fetched,
                      .ended = taken.pid == 0 ? std::optional(taken.ended_at) : std::nullopt,
                      .shard = taken.shard});
  }
  return takers;
}

bool WorkerTurns::would_wait(const ProcessTable::Place& place, int slot, bool strangers, SteadyTime now) const {
  const CapsuleSettings& capsule = generations_.capsule(place.generation, place.capsule);
  if (capsule.concurrency != 1) return false;
  std::vector<TurnTaker> takers = turn_takers();
  takers.push_back(
      {.slot = slot, .capsule = capsule.name, .alone = true, .since = now, .shard = slots_.table[slot].shard});
  return who_waits(takers, strangers, now).contains(slot);
}

void WorkerTurns::pass(bool strangers, SteadyTime now) {
  const std::set<int> waiting = who_waits(turn_takers(), strangers, now);
  for (int slot = 0; slot < slots_.table.used_slots(); ++slot) {
    const ProcessTable::Slot& taken = slots_.table[slot];
    const bool waits = waiting.contains(slot);
    if (taken.pid != 0 && waits != taken.waits_its_turn) orders_.let_wait_its_turn(slot, waits);
  }
}

}  // namespace brood
