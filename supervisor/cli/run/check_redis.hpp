#pragma once

#include <string>
#include <vector>

#include "shared/config/config.hpp"
#include "shared/redis/address.hpp"
#include "supervisor/cli/run/check_warnings.hpp"
#include "supervisor/redis/redis_requirements.hpp"

namespace brood {

// Checks brood's requirements in one shard after the other, and prints the findings.
class RedisCheck {
 public:
  RedisCheck(const Config& config, const CheckWarnings& warnings) : config_(config), warnings_(warnings) {}

  // Returns the exit status that `brood run` would have: an error if the Redis refuses us, can never be used or has the
  // data of an earlier shard.  A Redis that is away is no error: a machine may be set up before its Redis, and `run`
  // waits.
  int check(const RedisAddress& shard);

 private:
  std::string ask(const RedisAddress& shard);

  const Config& config_;
  const CheckWarnings& warnings_;
  std::vector<RedisData> seen_;      // the data of the shards so far
  std::vector<std::string> rivals_;  // of the last shard
};

// For a child, which may wait.  Empty if each Redis either may be used for all queues of this configuration or is away.
// After one Redis is away, asks only those with TLS.
std::string why_refused(const Config& config, const std::vector<RedisAddress>& shards);

}  // namespace brood
