#pragma once

#include <map>
#include <vector>

#include "shared/base/clock.hpp"
#include "supervisor/queues/doorbell_plan.hpp"
#include "supervisor/queues/queue_workers.hpp"

namespace brood {

// Which workers have nothing to do, as a doorbell sees it.  A worker that was rung for is not idle until it says so
// again.  A worker whose fetch found nothing, and that is about to wait, does not count yet.
class IdleWatch {
 public:
  explicit IdleWatch(QueueWorkers& workers) : workers_(workers) {}

  // Whether any worker's situation has changed since the last look; costs a few loads for each.
  bool changed();
  std::vector<IdleWorker> look();

  // This worker was freed for a job, as it was at the last look.
  void freed(int slot);

  // The next call of changed() is to say true.
  void forget();

 private:
  struct Freed {
    IdleSign sign;
    SteadyTime until;
  };
  std::vector<IdleSign> read(const std::vector<OccupiedSlot>& slots);

  QueueWorkers& workers_;
  std::vector<IdleSign> signs_;
  std::map<int, IdleSign> seen_;
  std::map<int, Freed> freed_;
  std::map<int, SteadyTime> not_waiting_since_;
};

}  // namespace brood
