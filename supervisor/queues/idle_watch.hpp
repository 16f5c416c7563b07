#pragma once

#include <map>
#include <vector>

#include "shared/base/clock.hpp"
#include "supervisor/queues/doorbell_plan.hpp"
#include "supervisor/queues/queue_workers.hpp"

namespace brood {

// Who has nothing to do, as a doorbell sees it: a worker that was rung for is idle no more until it says so again, and
// one on its way from a fetch that found nothing to its wait is no business of ours.
class IdleWatch {
 public:
  explicit IdleWatch(QueueWorkers& workers) : workers_(workers) {}

  // Whether anybody's situation is another than at the last look, at the price of a few loads.
  bool changed();
  std::vector<IdleWorker> look();

  // This worker was freed for a job, as it was at the last look.
  void freed(int slot);

  // The next look is a change.
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
