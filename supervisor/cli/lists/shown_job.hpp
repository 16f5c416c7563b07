#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/in_flight/job_search.hpp"
#include "shared/store/queues/class_pauses.hpp"
#include "supervisor/cli/access/shard_connections.hpp"

namespace brood {

// All known facts about one job, wherever it is.
struct ShownJob {
  JobReport report;
  std::optional<PlacedJob> placed;  // where it lies
  std::string shard;                // empty if there is only one, or if the job is nowhere
  // The worker that holds the job if it is in flight: as of its scoreboard on this machine, else as of its supervisor's
  // last heartbeat.
  struct Holder {
    std::string host;
    std::int64_t pid = 0;                 // of the supervisor
    int slot = 0;                         // of the worker
    std::optional<std::int64_t> since;    // epoch seconds; nullopt: it has not begun, or only just
    std::optional<JobProgress> progress;  // if it reports any
  };
  std::optional<Holder> holder;
  std::optional<std::pair<std::string, ClassPause>> pause;  // of its class, while it waits
};

// Asks all shards.  Throws ConnectionLost or UnexpectedReply.
ShownJob look_for_job(ShardConnections& shards, const std::string& jid);

// For programs: a report with "class", "queue", "due_at", "host", "pid", "slot", "since", "progress" and "shard", each
// null if unknown.  While the job waits for its class, also "paused_class", "paused_until" and "pause_reason"; while
// it waits for other steps of its flow, "bid" and "waits_for_steps", their number.
std::string shown_job_json(const ShownJob& job);

}  // namespace brood
