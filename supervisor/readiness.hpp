#pragma once

#include <set>

#include "supervisor/redis_link.hpp"
#include "supervisor/service_notify.hpp"
#include "supervisor/worker_pool.hpp"

namespace brood {

// Whether all that a start needs has come, or never will.
class Readiness {
 public:
  // `was_said`: by another program in this process, whose workers were all ready.
  Readiness(const WorkerPool& pool, const RedisLink& redis, ServiceNotify& service, bool was_said)
      : pool_(pool), redis_(redis), service_(service), said_(was_said) {}

  // Says so to the service manager and the log, once.
  void look();
  bool said() const { return said_; }

  // The worker in this place ended before it was ready.  True: so did one in every place, and none was ever ready.
  bool is_hopeless_after_failed_start(int place);

 private:
  const WorkerPool& pool_;
  const RedisLink& redis_;
  ServiceNotify& service_;
  bool said_;
  std::set<int> failed_starts_;  // places
};

}  // namespace brood
