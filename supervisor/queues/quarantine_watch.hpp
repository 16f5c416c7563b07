#pragma once

#include "shared/base/clock.hpp"
#include "shared/redis/async_connection.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "supervisor/queues/queue_workers.hpp"

namespace brood {

// Calls a worker to a shard that none serves, or only such as run long jobs, where jobs wait in quarantine, or for a
// class that is paused no more: a worker that comes looks which of them may run by now, and no queue would call one,
// since such jobs are in none.
class QuarantineWatch {
 public:
  QuarantineWatch(AsyncConnection& redis, QueueWorkers& workers) : redis_(redis), workers_(workers) {}

  // Now and then, while this shard is served and there is a quarantine, or pauses have changed a moment ago: until a
  // look behind that moment was answered.
  void look(SteadyTime now, bool there_is_a_quarantine);
  void note_pauses(const NameSet& paused_classes, SteadyTime now);
  // From now on it looks so many times more rarely.
  void slow_down(int times) { pace_ = times; }

 private:
  AsyncConnection::Scope redis_;
  QueueWorkers& workers_;
  SteadyTime next_look_{}, pauses_matter_until_{};
  bool pauses_matter_ = true;  // at first too: the supervisor before may not have come to look
  NameSet paused_classes_;
  int pace_ = 1;
};

}  // namespace brood
