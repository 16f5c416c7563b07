#pragma once

#include <optional>

#include "supervisor/upgrade/handover_record.hpp"
#include "supervisor/workers/generation/generations.hpp"
#include "supervisor/workers/worker_orders.hpp"
#include "supervisor/workers/worker_slots.hpp"

// How the workers pass from one program to the next in the same process.
namespace brood {

// The workers and their generations, into `handover`.  Not while a generation comes, or a worker is being ended, or a
// dead one's jobs are not recovered.
void hand_over_workers(Handover& handover, const WorkerSlots& slots, const Generations& generations,
                       const WorkerOrders& orders);

// Those that are left go by these.  What is not told of their configuration is as in the `first` one; without any, or
// where `slots` could not be adopted, that is the only one.
Generations generations_of(const std::optional<Handover>& left, const WorkerSlots& slots, const Generation& first,
                           const BodiesFor& bodies);

// Takes over the workers that are left, in the slots that they have.
void adopt_workers(const Handover& left, WorkerSlots& slots, WorkerOrders& orders);

}  // namespace brood
