#pragma once

#include <chrono>
#include <string>

#include "shared/redis/connection.hpp"
#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/status/status_report.hpp"

namespace brood {

// What the scoreboards and supervisors of this machine and user say; nothing of Redis is asked.
StatusReport look_at_machine();

// That, and what each Redis says that answers in time.  Throws what RedisAccess::shards() throws, but for
// ConnectionLost.
StatusReport look_at_everything(const RedisAccess& access,
                                Connection::Timeouts patience = {.connect = std::chrono::seconds(3),
                                                                 .command = std::chrono::seconds(5)});

// Whether jobs are performed here: as an exit status, and in one sentence.
struct ReadyVerdict {
  int exit_status;
  std::string sentence;
};
ReadyVerdict judge_readiness(const StatusReport& report);

}  // namespace brood
