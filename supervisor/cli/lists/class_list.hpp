#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/redis/connection.hpp"
#include "shared/scoreboard/class_usage.hpp"
#include "shared/store/queues/class_pauses.hpp"
#include "supervisor/cli/access/shard_connections.hpp"
#include "supervisor/cli/lists/quarantine_list.hpp"

namespace brood {

// A job class that has run on this machine, or is paused.
struct ListedClass {
  std::string name;
  bool paused = false;
  ClassPause pause = {};                            // if several shards pause it, the pause that ends last
  std::int64_t waiting = 0;                         // fetched jobs that wait for the end of the pause
  std::uint64_t runs = 0, failed = 0, crashed = 0;  // on this machine, since its supervisors began
};

// Sorted by name.  `used` comes from the scoreboards of this machine.  Throws UnexpectedReply if Redis refuses.
std::vector<ListedClass> list_classes(ShardConnections& shards, const std::vector<ClassUsage>& used,
                                      const QuarantineBounds& bounds = {});

// For programs: one JSON object.
std::string class_json(const ListedClass& one);

// Keeps workers from beginning jobs of the class, for `length`, or until it is unpaused.
ClassPause pause_class_of(ShardConnections& shards, const std::string& job_class, const std::string& reason = {},
                          std::optional<std::chrono::seconds> length = {});

// The paused classes of one shard, or of all, with the details of each pause.
ClassPauses paused_classes_of(Connection& redis);
ClassPauses paused_classes_of(ShardConnections& shards);
// Adds the pauses of another shard.  If a class has a pause in both, keeps the one that ends later.
void add_pauses(ClassPauses& all, const ClassPauses& more);
// The class and the pause that keep the job of this payload waiting; nullopt if none does.
std::optional<std::pair<std::string, ClassPause>> pause_of_job(const ClassPauses& pauses, std::string_view payload);

// For people: "paused until 2026-12-01T08:00:00Z: the ERP is down".
std::string pause_text(const ClassPause& pause);
// For programs: {"class","since","until","reason"}.
std::string class_pause_json(const std::string& job_class, const ClassPause& pause);

// Ends the pause, and puts the waiting jobs back to the heads of their queues, unless the class is in quarantine.
// Workers later put back what exceeds `bounds`.
ReleasedJobs unpause_class_of(ShardConnections& shards, const std::string& job_class,
                              const QuarantineBounds& bounds = {});

}  // namespace brood
