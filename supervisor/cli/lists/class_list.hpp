#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "shared/scoreboard/class_usage.hpp"
#include "supervisor/cli/access/shard_connections.hpp"
#include "supervisor/cli/lists/quarantine_list.hpp"

namespace brood {

// A job class that has run on this machine, or is paused.
struct ListedClass {
  std::string name;
  bool paused = false;
  std::int64_t waiting = 0;                         // jobs that were fetched and wait until it is paused no more
  std::uint64_t runs = 0, failed = 0, crashed = 0;  // on this machine, since its supervisors began
};

// By name; throws UnexpectedReply where Redis does not tell.  `used` is what the scoreboards of this machine say.
std::vector<ListedClass> list_classes(ShardConnections& shards, const std::vector<ClassUsage>& used,
                                      const QuarantineBounds& bounds = {});

// For programs: one JSON object.
std::string class_json(const ListedClass& one);

// Lets no worker begin a job of the class.
void pause_class_of(ShardConnections& shards, const std::string& job_class);

// Lets them go on, and puts what waits back to the heads of the queues, but for a class in quarantine.  What takes
// longer than `bounds` workers put back later.
ReleasedJobs unpause_class_of(ShardConnections& shards, const std::string& job_class,
                              const QuarantineBounds& bounds = {});

}  // namespace brood
