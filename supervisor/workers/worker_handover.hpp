#pragma once

#include <optional>

#include "supervisor/upgrade/handover_record.hpp"
#include "supervisor/workers/generation/generations.hpp"
#include "supervisor/workers/worker_orders.hpp"
#include "supervisor/workers/worker_slots.hpp"

// How workers pass from one program to the next in the same process.
namespace brood {

// Writes the workers and their generations into `handover`.  Do not call it while a generation is coming, a worker is
// being ended, or a dead worker's jobs are not recovered.
void hand_over_workers(Handover& handover, const WorkerSlots& slots, const Generations& generations,
                       const WorkerOrders& orders);

// The generations of the workers in `left`.  Takes settings that the handover lacks from `first`.  If `left` has no
// generations, or `slots` could not be adopted, `first` is the only one.
Generations generations_of(const std::optional<Handover>& left, const WorkerSlots& slots, const Generation& first,
                           const ProgramOf& program_of);

// Takes over the workers in `left`, in their present slots.
void adopt_workers(const Handover& left, WorkerSlots& slots, WorkerOrders& orders);

// A dead worker whose jobs are not recovered yet, and its slot.
Handover::Left left_by(WorkerDeath death, int shard, const ProcessTable& table);
// Keeps that slot taken until its jobs are recovered.  An implausible slot is free at once, which loses nothing.
void hold_slot(const Handover::Left& left, ProcessTable& table, const Generations& generations);

}  // namespace brood
