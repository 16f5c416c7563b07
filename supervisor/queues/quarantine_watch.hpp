#pragma once

#include "shared/base/clock.hpp"
#include "shared/redis/async_connection.hpp"
#include "supervisor/queues/queue_workers.hpp"

namespace brood {

// Calls a worker to a shard that none serves, where jobs wait in quarantine: a worker that comes looks which of them
// may run by now, and no queue would call one, since quarantined jobs are in none.
class QuarantineWatch {
 public:
  QuarantineWatch(AsyncConnection& redis, QueueWorkers& workers) : redis_(redis), workers_(workers) {}

  // Now and then, while there is a quarantine and this shard is served.
  void look(SteadyTime now);
  // From now on it looks so many times more rarely.
  void slow_down(int times) { pace_ = times; }

 private:
  AsyncConnection::Scope redis_;
  QueueWorkers& workers_;
  SteadyTime next_look_{};
  int pace_ = 1;
};

}  // namespace brood
