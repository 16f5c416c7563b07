#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "shared/config/config.hpp"
#include "shared/redis/address.hpp"
#include "shared/scoreboard/dump_request.hpp"
#include "shared/scoreboard/worker_setup.hpp"
#include "shared/store/in_flight/worker_death.hpp"

namespace brood {

// What forked children run.  The supervisor knows no worker: the program hands it these, and tests hand it lambdas.
// Each returns the child's exit status.
struct ChildBodies {
  // Bytes sent to Redis and received from it: a child in which this number grows is not hanging.
  using ByteCount = std::atomic<std::uint64_t>;

  // The first that each child does: keeps the supervisor from it, if these settings want that.  A template does so only
  // if all its workers would.
  std::function<void(const WorkerSettings&)> shield = {};
  std::function<void()> shield_template = {};

  // In a template: loads what its workers would load.  False when a template would gain nothing; throws when it cannot
  // load.
  std::function<bool()> preload = {};
  std::function<int(const WorkerSetup&)> worker = {};
  // Each of these three works on one Redis.
  std::function<int(const RedisAddress&, const std::vector<WorkerDeath>&, RecoveryMode, ByteCount&)>
      recover_worker_deaths = {};
  std::function<int(const RedisAddress&, const OrphanedJobs&, RecoveryMode, ByteCount&)> orphaned_jobs = {};
  std::function<int(const RedisAddress&, const OwnIncarnations&)> sweep = {};
  std::function<int(const std::vector<DumpRequest>&)> log_stacks = {};
  // Writes the stack of one worker to a descriptor, as JSON.
  std::function<int(const DumpRequest&, int descriptor)> tell_stack = {};
  // Tries what a worker would load.  Returns a sentence that says why it cannot be used, or nothing.
  std::function<std::string()> check = {};
  // Why the shards with these numbers cannot be taken out, as such a sentence.
  std::function<std::string(const std::vector<int>&)> why_not_empty = {};

  // Descriptors that all of them keep, of the files that the configuration holds: they may lie elsewhere by now.
  std::vector<int> keep = {};
};

}  // namespace brood
