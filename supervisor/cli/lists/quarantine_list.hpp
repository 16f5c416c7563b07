#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/connection.hpp"
#include "shared/store/in_flight/quarantined_classes.hpp"
#include "supervisor/cli/access/shard_connections.hpp"

namespace brood {

// A class whose jobs wait because they crash.  Jobs may still wait when the class is free again.  The jobs of a class
// that is only paused wait in the same place; see class_list.hpp.
struct ListedQuarantine {
  QuarantinedClass known;  // latest of all shards, with the crashes of all
  std::int64_t waiting = 0;
};

// Bounds for each shard: how many waiting jobs to look at, and until when.
struct QuarantineBounds {
  std::size_t most = std::numeric_limits<std::size_t>::max();
  std::optional<SteadyTime> until = {};
  bool are_reached(std::size_t looked_at) const { return looked_at >= most || (until && steady_now() >= *until); }
};

struct QuarantineList {
  std::map<std::string, ListedQuarantine, std::less<>> classes;  // "": entries that are no jobs
  bool is_cut = false;                                           // more may wait than was looked at
};
QuarantineList list_quarantine(ShardConnections& shards, const QuarantineBounds& bounds = {});

// For programs: one JSON object.
std::string quarantine_json(const std::string& job_class, const ListedQuarantine& one);

// A waiting entry.  If it is no job, its class, jid and queue are empty.
struct QuarantinedJob {
  std::string payload, job_class, jid, queue;
  double since = 0;                    // seconds since the epoch
  std::set<std::string> classes = {};  // any of these may be paused: its own class, and the one that it wraps
  std::string score_text = {};         // `since` as Redis spells it
  bool is_of(const std::string& name) const { return classes.contains(name); }
};
// Visits the entries of one shard, from newest to oldest, until `take` wants no more.  If `take` removes an entry, no
// other one is skipped.  Returns whether it reached the end.
struct QuarantineStep {
  bool removed = false, wants_more = true;
};
bool each_quarantined(Connection& redis, const std::function<QuarantineStep(const QuarantinedJob&)>& take);

// Lets a class run again in one shard and forgets its crashes.  Call it before you release its jobs: otherwise a worker
// would put them back into quarantine.  Returns whether the class was in quarantine there.
bool free_class(Connection& redis, const std::string& job_class, const QuarantinedClasses& here);

// What release_jobs() did: it puts the jobs for which `is_meant` is true back to their queues, within the bounds.
struct ReleasedJobs {
  std::int64_t released = 0;
  bool is_cut = false;       // some may still wait
  std::int64_t refused = 0;  // their queues did not take them: the key may have another type
  std::string why = {};      // the reason for one of them
  ReleasedJobs& operator+=(const ReleasedJobs& more);
};
ReleasedJobs release_jobs(Connection& redis, const std::function<bool(const QuarantinedJob&)>& is_meant,
                          const QuarantineBounds& bounds = {});

// A sentence about refused jobs: "2 jobs could not be put back and wait on: WRONGTYPE ...".
std::string refused_text(const ReleasedJobs& done);

}  // namespace brood
