#pragma once

#include "shared/base/clock.hpp"
#include "shared/redis/async_connection.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "supervisor/queues/queue_workers.hpp"

namespace brood {

// Calls a worker to a shard where jobs wait in quarantine, or for a class that is no longer paused, if the shard has no
// workers, or only workers in long jobs.  The worker that comes looks which of the jobs may run.  No queue would call
// one, since such jobs are in no queue.
class QuarantineWatch {
 public:
  QuarantineWatch(AsyncConnection& redis, QueueWorkers& workers) : redis_(redis), workers_(workers) {}

  // Call it now and then while this shard is served.  Looks while there is a quarantine.  After pauses have changed,
  // looks until a later look was answered.
  void look(SteadyTime now, bool there_is_a_quarantine);
  void note_pauses(const NameSet& paused_classes, SteadyTime now);
  // Looks `times` times more rarely from now on.
  void slow_down(int times) { pace_ = times; }

 private:
  AsyncConnection::Scope redis_;
  QueueWorkers& workers_;
  SteadyTime next_look_{}, pauses_matter_until_{};
  bool pauses_matter_ = true;  // at the start too: the previous supervisor may have ended before its look
  NameSet paused_classes_;
  int pace_ = 1;
};

}  // namespace brood
