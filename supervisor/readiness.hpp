#pragma once

#include <map>

#include "supervisor/process/service_notify.hpp"
#include "supervisor/shards/shard.hpp"
#include "supervisor/workers/worker_pool.hpp"

namespace brood {

// Whether all that a start needs has come, or never will.
class Readiness {
 public:
  // `was_said`: by another program in this process, whose workers were all ready.
  Readiness(const WorkerPool& pool, const Shards& shards, ServiceNotify& service, bool was_said)
      : pool_(pool), shards_(shards), service_(service), said_(was_said) {}

  // Says so to the service manager and the log, once.  A Redis that is away may come when it likes; one that refuses us
  // must be usable first, or another shard's must be.
  void look();
  bool said() const { return said_; }

  // A worker has ended.  True when it found a library that cannot be used, or crashed before it was ready, and nobody
  // was ever ready, and in every place one was refused, or `crashes_that_refuse` have crashed: loading it again changes
  // nothing.
  bool is_hopeless_after(const WorkerPool::Reaped& reaped);
  static constexpr int crashes_that_refuse = 4;

 private:
  bool redis_stands_in_the_way() const;
  bool is_hopeless() const;

  const WorkerPool& pool_;
  const Shards& shards_;
  ServiceNotify& service_;
  bool said_;
  std::map<int, int> crashes_;  // of each place; as many as refuse: one was refused
};

}  // namespace brood
