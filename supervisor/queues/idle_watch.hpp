#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/scoreboard/occupied_slot.hpp"
#include "supervisor/queues/queue_workers.hpp"

namespace brood {

// A worker with nothing to do.
struct IdleWorker {
  int slot = 0;
  int capsule = 0;
  std::string waits_on = {};  // the queue that it waits on in Redis; empty if it does not wait there
  std::uint64_t client = 0;   // the id of the connection on which it waits
};

// Compared to see whether a worker's situation has changed; costs a few loads.
struct IdleSign {
  bool idle = false;
  std::uint64_t waiting_client = 0;
  std::uint32_t text_sequence = 0;
  bool operator==(const IdleSign&) const = default;
};
IdleSign idle_sign(const SlotRecord& record);

// Everything about a worker whose sign shows that it is idle.
IdleWorker idle_worker(const OccupiedSlot& slot);

// Which workers have nothing to do.  A worker that was freed for a job is not idle until its sign changes.  A worker
// whose fetch found nothing does not count before it waits.
class IdleWatch {
 public:
  explicit IdleWatch(QueueWorkers& workers) : workers_(workers) {}

  // Whether any worker's situation has changed since the last look; costs a few loads for each.
  bool changed();
  std::vector<IdleWorker> look();

  // Notes that this worker was freed for a job, as it was at the last look.
  void freed(int slot);

  // Makes the next call of changed() return true.
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
