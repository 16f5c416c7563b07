#pragma once

#include <optional>

#include "supervisor/upgrade/handover_record.hpp"
#include "supervisor/workers/generation/generations.hpp"
#include "supervisor/workers/worker_orders.hpp"
#include "supervisor/workers/worker_slots.hpp"

// How the workers pass from one program to the next in the same process.
namespace brood {

// Writes the workers and their generations into `handover`.  Must not be called while a generation is coming, a worker
// is being ended, or jobs of a dead worker are not recovered.
void hand_over_workers(Handover& handover, const WorkerSlots& slots, const Generations& generations,
                       const WorkerOrders& orders);

// The generations of the workers that are left.  What the handover does not say of their configuration is as in
// `first`.  When none are left, or `slots` could not be adopted, `first` is the only generation.
Generations generations_of(const std::optional<Handover>& left, const WorkerSlots& slots, const Generation& first,
                           const BodiesFor& bodies);

// Takes over the workers that are left, in the slots that they have already.
void adopt_workers(const Handover& left, WorkerSlots& slots, WorkerOrders& orders);

}  // namespace brood
