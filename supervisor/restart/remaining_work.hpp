#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shared/redis/address.hpp"
#include "shared/redis/connection.hpp"

namespace brood {

// The work in a shard that keeps it from being removed, and how many dead jobs stay there.
struct RemainingWork {
  std::int64_t waiting = 0;  // in queues, set aside ones too, and for their sequences
  std::int64_t scheduled = 0, retries = 0, quarantined = 0;
  std::int64_t in_flight = 0;  // of any supervisor, and of Ruby's processes
  std::int64_t locks = 0;      // of unique jobs
  std::int64_t slots = 0;      // of limits, in use
  std::int64_t dead = 0;

  bool is_nothing() const;
  bool operator==(const RemainingWork&) const = default;
};

// For people: "3 jobs that wait, 1 scheduled job".  Pure.
std::string describe(const RemainingWork& left);

// Reads all keys of a Redis, and `queues` even if Redis does not list them.  Throws ConnectionLost or UnexpectedReply.
RemainingWork look_for_remaining_work(Connection& redis, const std::vector<std::string>& queues);

// A sentence that explains why these shards cannot be removed; empty if they can.  Blocks on Redis, so call it in a
// child.
std::string why_not_empty(const std::vector<RedisAddress>& shards, const std::vector<std::string>& queues);

}  // namespace brood
