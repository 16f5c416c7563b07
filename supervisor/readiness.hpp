#pragma once

#include <map>

#include "supervisor/process/service_notify.hpp"
#include "supervisor/shards/shard.hpp"
#include "supervisor/workers/worker_pool.hpp"

namespace brood {

// Whether a start has succeeded, or cannot succeed.
class Readiness {
 public:
  // `was_said`: the previous program in this process has reported readiness already.
  Readiness(const WorkerPool& pool, const Shards& shards, ServiceNotify& service, bool was_said)
      : pool_(pool), shards_(shards), service_(service), said_(was_said) {}

  // Reports readiness to the service manager and the log, once.  A Redis that is away does not delay this.  A Redis
  // that refuses us does, until it or another shard's Redis can be used.
  void look();
  bool said() const { return said_; }

  // Call it when a worker has ended.  Returns true if loading the libraries again would change nothing: no worker was
  // ever ready, and either each slot's worker refused a library, or `crashes_that_refuse` workers crashed before they
  // were ready.
  bool is_hopeless_after(const EndedWorker& worker);
  static constexpr int crashes_that_refuse = 4;

 private:
  bool redis_stands_in_the_way() const;
  bool is_hopeless() const;

  const WorkerPool& pool_;
  const Shards& shards_;
  ServiceNotify& service_;
  bool said_;
  std::map<int, int> crashes_;  // by slot; a refusal counts as `crashes_that_refuse`
};

}  // namespace brood
