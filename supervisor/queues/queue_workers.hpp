#pragma once

#include <set>
#include <vector>

#include "shared/scoreboard/occupied_slot.hpp"

namespace brood {

// The workers as seen by the code that watches queues: their records, and how each is freed from its wait.
// ShardWorkers implements this for a shard; tests have their own.
class QueueWorkers {
 public:
  virtual ~QueueWorkers() = default;

  // The ready workers.
  virtual std::vector<OccupiedSlot> occupied_slots() = 0;
  // The ready workers that fetch.
  virtual std::vector<OccupiedSlot> fetching_slots() = 0;
  virtual bool somebody_is_idle() const = 0;
  virtual bool somebody_is_busy() const { return false; }

  // Makes Redis end a worker's wait (WorkerUnblocker).  The worker has already sent its next fetch behind the wait.
  virtual void unblock(const SlotRecord& record) = 0;
  // Returns false if Redis refuses to end waits.  Then workers are ordered to wait outside Redis before they are woken.
  virtual bool may_unblock() const = 0;
  // Sends the slot's worker a byte: it then fetches from all its queues.
  virtual void wake(int slot) = 0;

  // The capsules that have a worker in another shard which would come to this one.
  virtual std::set<int> capsules_to_call() { return {}; }
  // Makes a worker of one of these capsules come.  Returns false if none comes.
  virtual bool call(const std::set<int>&) { return false; }
  // Whether workers of other shards may become free at any moment, without a message, and come.
  virtual bool others_may_come() const { return false; }

  // The known or the paused queues have changed: each worker looks before its next fetch.  With `to_all`, waiting
  // workers look at once, also those that are not known to be ready.
  virtual void note_queues_changed(bool to_all) = 0;
};

}  // namespace brood
