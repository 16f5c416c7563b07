#pragma once

#include <set>
#include <vector>

#include "supervisor/queues/queue_workers.hpp"
#include "supervisor/queues/worker_unblocker.hpp"
#include "supervisor/report/heartbeat.hpp"
#include "supervisor/shards/shard_moves.hpp"
#include "supervisor/workers/worker_orders.hpp"
#include "supervisor/workers/worker_pool.hpp"

namespace brood {

// The workers that serve one shard now, for the parts that watch its queues and for its heartbeat.
class ShardWorkers : public QueueWorkers, public Heartbeat::Workers {
 public:
  ShardWorkers(int shard, ShardMoves& moves, WorkerOrders& orders, WorkerPool& pool, Metrics& metrics,
               WorkerUnblocker& unblocker)
      : shard_(shard), moves_(moves), orders_(orders), pool_(pool), metrics_(metrics), unblocker_(unblocker) {}

  std::vector<OccupiedSlot> occupied_slots() override { return of_the_shard(orders_.occupied_slots()); }
  std::vector<OccupiedSlot> fetching_slots() override { return of_the_shard(orders_.fetching_slots()); }
  bool somebody_is_idle() const override { return orders_.somebody_is_idle(); }
  bool somebody_is_busy() const override { return orders_.somebody_is_busy(); }
  void unblock(const SlotRecord& record) override { unblocker_.unblock(record); }
  bool may_unblock() const override { return unblocker_.allowed(); }
  void wake(int slot) override { orders_.wake(slot); }
  // Ends a wait that Redis does not know of, by a byte.  This costs the worker its connection and its incarnation.
  void end_wait(const SlotRecord& record) {
    for (const OccupiedSlot& slot : occupied_slots()) {
      if (slot.record != &record) continue;
      slot.record->waits_outside.store(1);
      orders_.send_byte(slot.slot);
    }
  }
  std::set<int> capsules_to_call() override { return moves_.capsules_to_call(shard_); }
  bool call(const std::set<int>& capsules) override { return moves_.call(shard_, capsules); }
  bool others_may_come() const override { return moves_.are_several(); }
  void note_queues_changed(bool to_all) override { orders_.note_queues_changed(to_all, shard_); }

  std::vector<SeenSlot> slots() const override {
    std::vector<SeenSlot> seen = pool_.slots();
    std::erase_if(seen, [this](const SeenSlot& slot) { return pool_.shard_of(slot.number) != shard_; });
    return seen;
  }
  // The runs of job classes are counted for all shards together, and sent to the first usable one.
  Metrics& metrics() override { return metrics_; }
  bool observe_classes(SteadyTime now) override {
    if (moves_.first_usable() != shard_) return false;
    metrics_.observe(pool_.take_class_usage(), now);
    return true;
  }
  void note_beat_token(std::uint64_t token) override { pool_.note_beat_token(token, shard_); }
  void note_beat(BootTime sent) override { pool_.note_beat(sent, shard_); }

 private:
  std::vector<OccupiedSlot> of_the_shard(std::vector<OccupiedSlot> slots) const {
    std::erase_if(slots, [this](const OccupiedSlot& slot) { return slot.shard != shard_; });
    return slots;
  }

  const int shard_;
  ShardMoves& moves_;
  WorkerOrders& orders_;
  WorkerPool& pool_;
  Metrics& metrics_;
  WorkerUnblocker& unblocker_;
};

}  // namespace brood
