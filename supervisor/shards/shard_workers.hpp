#pragma once

#include <vector>

#include "supervisor/queues/queue_workers.hpp"
#include "supervisor/queues/worker_unblocker.hpp"
#include "supervisor/workers/worker_orders.hpp"

namespace brood {

// The workers, as those see them who look after the queues of one shard.
class ShardWorkers : public QueueWorkers {
 public:
  ShardWorkers(WorkerOrders& orders, WorkerUnblocker& unblocker) : orders_(orders), unblocker_(unblocker) {}

  std::vector<OccupiedSlot> occupied_slots() override { return orders_.occupied_slots(); }
  std::vector<OccupiedSlot> fetching_slots() override { return orders_.fetching_slots(); }
  bool somebody_is_idle() const override { return orders_.somebody_is_idle(); }
  void unblock(const SlotRecord& record) override { unblocker_.unblock(record); }
  bool may_unblock() const override { return unblocker_.allowed(); }
  void wake(int slot) override { orders_.wake(slot); }
  void note_queues_changed(bool to_all) override { orders_.note_queues_changed(to_all); }

 private:
  WorkerOrders& orders_;
  WorkerUnblocker& unblocker_;
};

}  // namespace brood
