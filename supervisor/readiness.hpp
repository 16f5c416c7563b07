#pragma once

#include <map>

#include "supervisor/process/service_notify.hpp"
#include "supervisor/shards/shard.hpp"
#include "supervisor/workers/worker_pool.hpp"

namespace brood {

// Whether all that a start needs has come, or never will.
class Readiness {
 public:
  // `was_said`: the program before us in this process has reported it, when each place had had a ready worker.
  Readiness(const WorkerPool& pool, const Shards& shards, ServiceNotify& service, bool was_said)
      : pool_(pool), shards_(shards), service_(service), said_(was_said) {}

  // Tells the service manager and the log that all is ready, once.  A Redis that is away does not hold this up.  One
  // that refuses us does, until it can be used or the Redis of another shard can.
  void look();
  bool said() const { return said_; }

  // A worker has ended.  True when to load the libraries again would change nothing: no worker was ever ready, and in
  // every place a worker found a library that it cannot use, or `crashes_that_refuse` workers crashed before they were
  // ready.
  bool is_hopeless_after(const EndedWorker& worker);
  static constexpr int crashes_that_refuse = 4;

 private:
  bool redis_stands_in_the_way() const;
  bool is_hopeless() const;

  const WorkerPool& pool_;
  const Shards& shards_;
  ServiceNotify& service_;
  bool said_;
  std::map<int, int> crashes_;  // by place; `crashes_that_refuse` also after one refusal
};

}  // namespace brood
