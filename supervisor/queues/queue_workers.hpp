#pragma once

#include <set>
#include <vector>

#include "shared/scoreboard/occupied_slot.hpp"

namespace brood {

// The workers, as those see them who look after the queues: their records, and how each is freed from its wait.  A
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

  // Has Redis let go of a worker that waits there (WorkerUnblocker): its fetch lies behind its wait already.
  virtual void unblock(const SlotRecord& record) = 0;
  // False: Redis refuses to let go of anybody.  Workers are told to wait outside then, before they are woken.
  virtual bool may_unblock() const = 0;
  // Sends the slot's worker a byte: it then fetches from all its queues.
  virtual void wake(int slot) = 0;

  // Where there are several shards: of which capsules a worker of another would come to this one.
  virtual std::set<int> capsules_to_call() { return {}; }
  // Has one of these capsules come; false: nobody does.
  virtual bool call(const std::set<int>&) { return false; }
  // Whether others may be free at any moment without saying so, and come.
  virtual bool others_may_come() const { return false; }

  // Other queues are known, or others paused: each worker looks for itself before its next fetch.  With `to_all` those
  // that wait for a job do so at once, also those that are not known to be ready.
  virtual void note_queues_changed(bool to_all) = 0;
};

}  // namespace brood
