#pragma once

#include <chrono>
#include <string>

#include "shared/redis/connection.hpp"
#include "shared/store/report/class_runs.hpp"
#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/access/shard_connections.hpp"
#include "supervisor/cli/status/status_report.hpp"

namespace brood {

// The reports of the scoreboards and supervisors of this machine and user.  Does not ask Redis.
StatusReport look_at_machine();

// The same, with the answers of each Redis that come in time.  Throws what RedisAccess::shards() throws, except
// ConnectionLost.
StatusReport look_at_everything(const RedisAccess& access,
                                Connection::Timeouts patience = {.connect = std::chrono::seconds(3),
                                                                 .command = std::chrono::seconds(5)});

// The reports of this machine's scoreboards and supervisors, with the data of these supervisors in each Redis.  Needs
// only a few commands, however large the fleet and the Redis are.
StatusReport look_at_own_processes(const RedisAccess& access, Connection::Timeouts patience);

// Whether this host exports the figures of the whole Redis: see take_turn_to_tell().  `program` asks for it.  Throws
// ConnectionLost.
MetricsTeller take_turn_to_tell(ShardConnections& shards, const std::string& program, bool may_not_take = false);

// Only the parts that judge_readiness() needs; of each Redis only whether it answers.
StatusReport look_whether_ready(const RedisAccess& access, Connection::Timeouts patience);

// Whether jobs are performed here: as an exit status, and in one sentence.
struct ReadyVerdict {
  int exit_status;
  std::string sentence;
};
ReadyVerdict judge_readiness(const StatusReport& report);

}  // namespace brood
