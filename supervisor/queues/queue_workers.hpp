#pragma once

#include <set>
#include <vector>

#include "shared/scoreboard/occupied_slot.hpp"

namespace brood {

// The workers, as the code that looks after queues sees them: their records, and how each is freed from its wait.  A
// shard's are ShardWorkers; tests invent some.
class QueueWorkers {
 public:
  virtual ~QueueWorkers() = default;

  // Those that are ready.
  virtual std::vector<OccupiedSlot> occupied_slots() = 0;
  // Those of them that fetch.
  virtual std::vector<OccupiedSlot> fetching_slots() = 0;
  virtual bool somebody_is_idle() const = 0;
  virtual bool somebody_is_busy() const { return false; }

  // Makes Redis end the wait of a worker there (WorkerUnblocker).  The worker has sent its next fetch behind the wait
  // already.
  virtual void unblock(const SlotRecord& record) = 0;
  // False: Redis refuses to end anybody's wait.  Then workers are told to wait outside Redis before they are woken.
  virtual bool may_unblock() const = 0;
  // Sends the slot's worker a byte: it then fetches from all its queues.
  virtual void wake(int slot) = 0;

  // Where there are several shards: the capsules of which a worker of another shard would come to this one.
  virtual std::set<int> capsules_to_call() { return {}; }
  // Makes a worker of one of these capsules come; false: nobody comes.
  virtual bool call(const std::set<int>&) { return false; }
  // Whether others may be free at any moment without saying so, and come.
  virtual bool others_may_come() const { return false; }

  // The known or the paused queues have changed: each worker looks for itself before its next fetch.  With `to_all`,
  // workers that wait for a job do so at once, also workers that are not known to be ready.
  virtual void note_queues_changed(bool to_all) = 0;
};

}  // namespace brood
