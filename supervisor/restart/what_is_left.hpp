#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shared/redis/address.hpp"
#include "shared/redis/connection.hpp"

namespace brood {

// What keeps a shard from being taken out, and how many dead jobs stay there.
struct WhatIsLeft {
  std::int64_t waiting = 0;  // in queues, set aside ones too
  std::int64_t scheduled = 0, retries = 0, quarantined = 0;
  std::int64_t in_flight = 0;  // of any supervisor, and what processes of Ruby run
  std::int64_t locks = 0;      // of unique jobs
  std::int64_t slots = 0;      // of limits, that somebody holds
  std::int64_t dead = 0;

  bool is_nothing() const;
  bool operator==(const WhatIsLeft&) const = default;
};

// For people: "3 jobs that wait, 1 scheduled job".  Pure.
std::string describe(const WhatIsLeft& left);

// Looks through all keys of a Redis.  `queues` are looked at whether or not Redis knows them.  Throws ConnectionLost or
// UnexpectedReply.
WhatIsLeft look_what_is_left(Connection& redis, const std::vector<std::string>& queues);

// Why these shards cannot be taken out, as a sentence; empty: they are empty.  Waits for Redis: for a child.
std::string why_not_empty(const std::vector<RedisAddress>& shards, const std::vector<std::string>& queues);

}  // namespace brood
