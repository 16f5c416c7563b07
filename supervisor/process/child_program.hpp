#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "shared/config/config.hpp"
#include "shared/redis/address.hpp"
#include "shared/scoreboard/dump_request.hpp"
#include "shared/scoreboard/error_counts.hpp"
#include "shared/scoreboard/worker_setup.hpp"
#include "shared/store/in_flight/worker_death.hpp"

namespace brood {

// The program that a supervisor's children run under one configuration.  The supervisor knows no worker: `brood run`
// passes this program in, and tests pass their own.
//
// Each function but descriptors() is called in a child.  Those that return an int return the child's exit status.
class ChildProgram {
 public:
  // Bytes sent to Redis and received from it: while this number grows, the child does not hang.
  using ByteCount = std::atomic<std::uint64_t>;

  virtual ~ChildProgram() = default;

  // Descriptors of the configuration's files, which all children keep: the files may have been replaced since.
  virtual std::vector<int> descriptors() const { return {}; }

  // Called first in each child: protects the supervisor from the child if these settings ask for it.  A template does
  // this only if all its workers would.
  virtual void shield(const WorkerSettings&) {}
  virtual void shield_template() {}

  // In a template: loads what its workers would load.  Returns false if a template would gain nothing.  Throws if
  // loading fails.
  virtual bool preload() { return false; }
  virtual int work(const WorkerSetup&) = 0;

  // Each of these three works on one Redis.
  virtual int recover(const RedisAddress&, const std::vector<WorkerDeath>&, RecoveryMode, ByteCount&) = 0;
  virtual int recover_orphans(const RedisAddress&, const OrphanedJobs&, RecoveryMode, ByteCount&) = 0;
  virtual int sweep(const RedisAddress&, const OwnIncarnations&) = 0;

  // Hands the reports of failures in the spool to the program and the services of the configuration, until its lifeline
  // ends.
  virtual int report_errors(const std::string& spool, ErrorCounts&, int lifeline) = 0;

  virtual int log_stacks(const std::vector<DumpRequest>&) = 0;
  // Writes the stack of one worker as JSON to a descriptor.
  virtual int tell_stack(const DumpRequest&, int descriptor) = 0;

  // Tries to load what a worker would load.  Returns a sentence that explains why it cannot be used; empty if it can.
  virtual std::string why_not_usable() = 0;
  // The same for removing the shards with these numbers.
  virtual std::string why_not_removable(const std::vector<int>& shards) = 0;
};

}  // namespace brood
