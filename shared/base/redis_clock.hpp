#pragma once

#include "shared/base/clock.hpp"

namespace brood {

// The time of day by Redis's clock.  It gives scores and the times in payloads, and decides what is due.  So a host
// whose own clock is a day ahead neither delays a retry by a day nor hurries it.  Returns the last time read from
// Redis, advanced by the steady clock; this host's own clock until Redis has been asked.
WallTime redis_now();

// Redis answered `time` between these two moments.  An earlier reading is kept if it fits in between: a slow reply is
// less exact than a quick one.  Children that are forked later inherit it.
void note_redis_time(WallTime time, SteadyTime asked, SteadyTime answered);

// Forgets the time of the old Redis.  Call it when another Redis is used from now on.
void forget_redis_time();

// Returns false until the time has been read from Redis; redis_now() is this host's time until then.
bool redis_time_is_known();

// Returns false if the time was read from Redis too long ago, or this host's clock was set since, or the host slept:
// ask before making a score.
bool redis_time_is_fresh();

}  // namespace brood
