#pragma once

#include "shared/base/clock.hpp"
#include "shared/redis/connection.hpp"

namespace brood {

// The answer to TIME.  Throws UnexpectedReply.
WallTime redis_time(ReplyView reply);

// Asks Redis what time it is, unless it said so not long ago: see redis_clock.hpp.  One that is away, or does not tell,
// costs a second at most, and what was known holds.
void ask_redis_time(Channel& redis);

}  // namespace brood
