#pragma once

#include <vector>

#include "shared/base/clock.hpp"
#include "supervisor/workers/generation/generations.hpp"
#include "supervisor/workers/places/serial_turns.hpp"
#include "supervisor/workers/worker_orders.hpp"
#include "supervisor/workers/worker_slots.hpp"

namespace brood {

// Orders each worker of a capsule that runs one worker at a time to wait or to go on; see serial_turns.hpp.
// `strangers`: living workers of which nothing is known.
class WorkerTurns {
 public:
  WorkerTurns(const WorkerSlots& slots, const Generations& generations, WorkerOrders& orders)
      : slots_(slots), generations_(generations), orders_(orders) {}

  // Whether a worker that is forked now, into this slot and for this place, must wait.
  bool would_wait(const ProcessTable::Place& place, int slot, bool strangers, SteadyTime now) const;
  void pass(bool strangers, SteadyTime now);

 private:
  std::vector<TurnTaker> turn_takers() const;

  const WorkerSlots& slots_;
  const Generations& generations_;
  WorkerOrders& orders_;
};

}  // namespace brood
