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
                           const ProgramOf& program_of);

// Takes over the workers that are left, in the slots that they have already.
void adopt_workers(const Handover& left, WorkerSlots& slots, WorkerOrders& orders);

// A dead worker whose jobs are not recovered yet, and its slot.
Handover::Left left_by(WorkerDeath death, int shard, const ProcessTable& table);
// Keeps that slot taken until its jobs are recovered.  A slot that makes no sense is free at once: nothing is lost by
// that.
void hold_slot(const Handover::Left& left, ProcessTable& table, const Generations& generations);

}  // namespace brood
