#pragma once

#include <vector>

#include "supervisor/queues/queue_workers.hpp"

namespace brood {

// Workers that consist only of their records; none waits.
struct InventedWorkers : QueueWorkers {
  std::vector<OccupiedSlot> all;

  std::vector<OccupiedSlot> occupied_slots() override { return all; }
  std::vector<OccupiedSlot> fetching_slots() override { return all; }
  bool somebody_is_idle() const override { return true; }
  void unblock(const SlotRecord&) override {}
  bool may_unblock() const override { return true; }
  void wake(int) override {}
  void note_queues_changed(bool) override {}
};

}  // namespace brood
