#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <brood/api.hpp>

#include "shared/redis/connection.hpp"
#include "shared/redis/tls_certificates.hpp"
#include "shared/store/in_flight/crash_book.hpp"
#include "shared/store/in_flight/lock_list.hpp"
#include "shared/store/in_flight/quarantined_classes.hpp"
#include "shared/store/periodic/periodic_jobs.hpp"
#include "shared/store/queues/class_pauses.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "shared/store/report/supervisor_state.hpp"
#include "supervisor/cli/lists/limit_list.hpp"

namespace brood {

// One entry of Sidekiq's process list: a supervisor of brood, or a Ruby Sidekiq.
struct ProcessStatus : Process {
  std::optional<std::int64_t> in_flight;  // jobs; nullopt: the process keeps no in-flight lists, like Ruby's Sidekiq
  // How long its longest running job had run at the last heartbeat, in seconds; nullopt if none runs.
  std::optional<double> oldest_in_flight;
  std::optional<SupervisorState> state = {};  // nullopt for Ruby's, and for an older brood
};

struct TenantCounts {
  std::int64_t known = 0, with_jobs = 0;
};

struct QueueStatus {
  std::string name;                  // "images~*": all tenants of images together
  std::optional<std::int64_t> size;  // nullopt: the key is no list
  double latency = 0;                // seconds that the next job has waited
  bool paused = false;               // no process fetches from it
  bool served = false;               // some process fetches from it, or would if it were not paused
  std::optional<TenantCounts> tenants = {};
};

// A supervisor without a heartbeat that holds jobs in flight: it is dead, or cut off from Redis.
struct SilentStatus {
  std::string identity;
  std::int64_t in_flight = 0;
  std::optional<double> oldest_in_flight;  // seconds since that job was enqueued; its start is not known any more
};

struct RedisStatus {
  std::int64_t processed = 0, failed = 0, enqueued = 0, scheduled = 0, retries = 0, dead = 0;
  std::vector<ProcessStatus> processes;
  std::vector<SilentStatus> silent;  // by identity
  std::vector<QueueStatus> queues;   // by name
  std::vector<Crash> crashes;        // the latest first
  QuarantinedClasses quarantine;     // by class
  NameSet paused_classes;
  ClassPauses class_pauses;                       // their details
  std::int64_t quarantined = 0;                   // jobs that wait, of classes in quarantine or paused
  std::int64_t in_sequences = 0;                  // jobs that wait for those before them
  std::int64_t batches = 0;                       // those that are kept, also after their end
  std::map<std::string, KnownPeriodic> periodic;  // jobs that run again and again, by name
  std::vector<ListedLimit> limits;                // some hundreds at most; empty too where they cannot be read
  std::optional<LockCounts> locks = {};           // of unique jobs; nullopt: too many keys to count them
  CertificateEnds certificates = {};              // of the connection that asked

  bool somebody_fetches(const std::string& queue) const;
  std::int64_t in_flight() const;
  std::optional<double> oldest_in_flight() const;
};

// Several shards shown as one Redis: a process with heartbeats in several shards is one process, a queue in several
// shards is one queue.
RedisStatus sum_of(const std::vector<RedisStatus>& shards);

// Throws ConnectionLost or UnexpectedReply.
RedisStatus ask_redis(Connection& redis);

// The same without crashes and quarantine, which are by far the most data.
RedisStatus ask_redis_without_crashes(Connection& redis);
// Only the processes of these identities that send heartbeats.  Throws as above.
RedisStatus ask_redis_of(Connection& redis, const std::vector<std::string>& identities);
// Empty if they cannot be read, so that the rest is still shown.  Throws ConnectionLost.
std::vector<Crash> ask_crashes(Connection& redis);

}  // namespace brood
