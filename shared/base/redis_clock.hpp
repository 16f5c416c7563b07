#pragma once

#include "shared/base/clock.hpp"

namespace brood {

// The time of day by Redis's clock: the last time read from Redis, advanced by the steady clock.  Until Redis has been
// asked it is this host's own time.  Scores and times in payloads come from it, and it decides which jobs are due.  So
// a host whose own clock is a day ahead runs no retry a day too early or too late.
WallTime redis_now();

// Notes that Redis answered `time` between these two moments.  An earlier reading that lies between them is kept, since
// a slow reply is less exact than a quick one.  Children that are forked later inherit the time.
void note_redis_time(WallTime time, SteadyTime asked, SteadyTime answered);

// Forgets the time of the old Redis.  Call it when another Redis is used from now on.
void forget_redis_time();

// Whether the time has been read from Redis.
bool redis_time_is_known();

// Whether the time was read from Redis recently, and since then neither this host's clock was set nor the host slept.
// If not, ask Redis before making a score.
bool redis_time_is_fresh();

}  // namespace brood
