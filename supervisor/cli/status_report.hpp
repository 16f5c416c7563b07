#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/clock.hpp"
#include "shared/redis/connection.hpp"

namespace brood {

// One entry of Sidekiq's process list: a supervisor of brood, or a Ruby Sidekiq.
struct ProcessStatus {
  std::string identity, hostname, tag, version;
  std::int64_t pid = 0;
  std::vector<std::string> queues, labels;
  std::int64_t concurrency = 0, busy = 0, rss_kb = 0, rtt_us = 0;
  bool quiet = false;
  double started_at = 0, beat = 0;  // epoch seconds
};

struct QueueStatus {
  std::string name;
  std::optional<std::int64_t> size;  // nullopt: the key is no list
  double latency = 0;                // seconds that the next job has waited
};

// A worker of this machine, as its slot in a scoreboard says.
struct WorkerStatus {
  std::string identity;
  int slot = 0;
  std::int64_t pid = 0;
  std::string state;                  // starting, idle, busy, quiet, stopping or gone
  std::string job_class, jid, queue;  // of the job that it runs
  double age = 0;                     // seconds that the job has run
  std::uint64_t processed = 0, failed = 0;
};

struct RedisStatus {
  std::int64_t processed = 0, failed = 0, enqueued = 0, scheduled = 0, retries = 0, dead = 0;
  std::vector<ProcessStatus> processes;
  std::vector<QueueStatus> queues;  // by name
};

// Throws ConnectionLost or UnexpectedReply.
RedisStatus ask_redis(Connection& redis);

// Reads every scoreboard of `directory`; what cannot be read is left out.
std::vector<WorkerStatus> read_scoreboards(const std::string& directory);

}  // namespace brood
