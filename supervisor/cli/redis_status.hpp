#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <brood/api.hpp>

#include "shared/redis/connection.hpp"
#include "shared/store/in_flight/crash_book.hpp"
#include "shared/store/in_flight/quarantine.hpp"
#include "supervisor/cli/limit_list.hpp"

namespace brood {

// One entry of Sidekiq's process list: a supervisor of brood, or a Ruby Sidekiq.
struct ProcessStatus : Process {
  std::optional<std::int64_t> in_flight;  // jobs; nullopt: it keeps no lists of them, as Ruby's Sidekiq
  // Seconds that the job which began first has run, as of the last heartbeat; nullopt: none runs.
  std::optional<double> oldest_in_flight;
};

struct QueueStatus {
  std::string name;
  std::optional<std::int64_t> size;  // nullopt: the key is no list
  double latency = 0;                // seconds that the next job has waited
  bool paused = false;               // nobody fetches from it
  bool served = false;               // some process fetches from it, or would if it were not paused
};

// A supervisor without a heartbeat that holds jobs in flight: it is dead, or cut off from Redis.
struct SilentStatus {
  std::string identity;
  std::int64_t in_flight = 0;
  std::optional<double> oldest_in_flight;  // seconds since that job was enqueued: nobody says any more when it began
};

struct RedisStatus {
  std::int64_t processed = 0, failed = 0, enqueued = 0, scheduled = 0, retries = 0, dead = 0;
  std::vector<ProcessStatus> processes;
  std::vector<SilentStatus> silent;  // by identity
  std::vector<QueueStatus> queues;   // by name
  std::vector<Crash> crashes;        // the latest first
  QuarantinedClasses quarantine;     // by class
  std::int64_t quarantined = 0;      // jobs that wait in it
  std::vector<ListedLimit> limits;   // some hundreds at most; empty too where they cannot be read

  bool somebody_fetches(const std::string& queue) const;
  std::int64_t in_flight() const;
  std::optional<double> oldest_in_flight() const;
};

// What several shards say, as if it were one Redis: a process that beats in several is one, and so is a queue.
RedisStatus sum_of(const std::vector<RedisStatus>& shards);

// Throws ConnectionLost or UnexpectedReply.
RedisStatus ask_redis(Connection& redis);

// The same without crashes and quarantine, which are by far the most of it.
RedisStatus ask_redis_without_crashes(Connection& redis);
// Empty when they cannot be read: that must not hide all the rest.  Throws ConnectionLost.
std::vector<Crash> ask_crashes(Connection& redis);

}  // namespace brood
