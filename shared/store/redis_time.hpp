#pragma once

#include <string>

#include "shared/base/clock.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/connection.hpp"

namespace brood {

// The time of Redis.  Reading throws UnexpectedReply.
Command ask_time();
WallTime redis_time(ReplyView reply);

// Call it in a child that will use this Redis: forgets the time known to its parent, if that may be another shard's.
void forget_time_of_another(const RedisAddress& redis);

// Asks Redis for the time, unless it is known from a moment ago: see redis_clock.hpp.  If Redis does not answer, this
// takes a second at most, and the time last known applies.
void ask_redis_time(Channel& redis);

// The parts of a point in time, in UTC, as Sidekiq writes them in keys.
struct Utc {
  explicit Utc(WallTime t);

  int year;
  unsigned month, day;
  int hour, minute;

  std::string date(char separator) const;  // 2026-11-21
  std::string date() const;                // 20261121
};

}  // namespace brood
