#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "shared/json/json_object.hpp"
#include "tests/support/redis_server.hpp"

namespace brood {

// The ticks whose jobs are in the queue, the oldest first, in seconds since the epoch.
inline std::vector<std::int64_t> ticks_in(RedisServer& redis, const std::string& key = "queue:ticks") {
  std::vector<std::int64_t> ticks;
  for (const std::string& payload : redis.lrange(key))
    ticks.push_back(JsonObject::parse(payload).integer("periodic_tick").value_or(0));
  std::reverse(ticks.begin(), ticks.end());
  return ticks;
}

// Whether there is each second once, without a gap.
inline bool are_all_seconds(const std::vector<std::int64_t>& ticks) {
  for (std::size_t i = 1; i < ticks.size(); ++i) {
    if (ticks[i] != ticks[i - 1] + 1) return false;
  }
  return !ticks.empty();
}

// Of Redis' clock, in seconds since the epoch.
inline std::int64_t time_of(RedisServer& redis) { return redis.command({"TIME"}).view()[0].integer(); }

}  // namespace brood
