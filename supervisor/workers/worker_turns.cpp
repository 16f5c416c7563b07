// How the workers of a capsule that has one at a time take turns; see worker_pool.hpp.

#include <algorithm>

#include "supervisor/workers/serial_turns.hpp"
#include "supervisor/workers/worker_pool.hpp"

namespace brood {

const CapsuleSettings& WorkerPool::capsule_of(std::uint32_t generation, int capsule) const {
  return generations_.at(generation)->config->capsules.at(static_cast<std::size_t>(capsule));
}

std::vector<TurnTaker> WorkerPool::turn_takers() const {
  std::vector<TurnTaker> takers;
  for (int slot = 0; slot < table_.used_slots(); ++slot) {
    const ProcessTable::Slot& taken = table_[slot];
    if (taken.pid == 0 && !taken.held) continue;
    const CapsuleSettings& capsule = capsule_of(taken.generation, taken.capsule);
    takers.push_back({.slot = slot,
                      .capsule = capsule.name,
                      .alone = capsule.concurrency == 1,
                      .since = taken.occupied_since,
                      .finishing = (taken.flags & slot_stop) != 0,
                      .never_fetched = taken.never_fetched,
                      .ended = taken.pid == 0 ? std::optional(taken.ended_at) : std::nullopt});
  }
  return takers;
}

bool WorkerPool::would_wait(const ProcessTable::Place& place, int slot, SteadyTime now) const {
  const CapsuleSettings& capsule = capsule_of(place.generation, place.capsule);
  if (capsule.concurrency != 1) return false;
  std::vector<TurnTaker> takers = turn_takers();
  takers.push_back({.slot = slot, .capsule = capsule.name, .alone = true, .since = now});
  return who_waits(takers, predecessors_.size() > 0, now).contains(slot);
}

void WorkerPool::pass_turns(SteadyTime now) {
  const std::set<int> waiting = who_waits(turn_takers(), predecessors_.size() > 0, now);
  for (int slot = 0; slot < table_.used_slots(); ++slot) {
    ProcessTable::Slot& taken = table_[slot];
    const bool waits = waiting.contains(slot);
    if (taken.pid == 0 || waits == taken.waits_its_turn) continue;
    taken.waits_its_turn = waits;
    taken.never_fetched &= waits;
    scoreboard_.slot(slot).flags.store(flags_of(slot));
    wake(slot);
  }
}

std::uint32_t WorkerPool::flags_of(int slot) const {
  return flags_ | table_[slot].flags | (table_[slot].waits_its_turn ? slot_quiet : 0U);
}

}  // namespace brood
