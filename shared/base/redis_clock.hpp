#pragma once

#include "shared/base/clock.hpp"

namespace brood {

// The time of day by Redis's clock.  Scores and the times in payloads are made by it, and it decides what is due: so a
// host whose own clock is a day ahead neither delays a retry by a day nor hurries it.  It is the time that Redis told
// last, counted on by the steady clock; until Redis has told one, this host's own clock.
WallTime redis_now();

// Redis said `time` between these two moments.  What was known is kept if it fits in between: a slow reply tells less
// than an earlier quick one.  Children that are forked later know it too.
void note_redis_time(WallTime time, SteadyTime asked, SteadyTime answered);

// Call it when another Redis is used from now on: forgets the time that the old one told.
void forget_redis_time();

// False until Redis has told a time: then redis_now() is what this host believes.
bool redis_time_is_known();

// False when Redis told the time too long ago, or this host's clock was set since, or the host slept: ask before making
// a score.
bool redis_time_is_fresh();

}  // namespace brood
