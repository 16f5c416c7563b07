#pragma once

#include "shared/base/clock.hpp"

namespace brood {

// The time of day by the clock of Redis: scores, and the times in payloads, are made by it, and what is due is judged
// by it.  A host whose own clock is a day ahead then neither delays a retry by a day nor hurries it.  As it was last
// told, counted on by the steady clock; by this host's own clock while nobody has told.
WallTime redis_now();

// Redis said `time` between these two moments.  What was known stays where that allows it: a slow reply tells less than
// an earlier quick one.  Children that are forked later know it too.
void note_redis_time(WallTime time, SteadyTime asked, SteadyTime answered);

// Not for long enough, or this host's clock has been set since, or stood still in its sleep: whoever makes a score
// asks.
bool redis_time_is_fresh();

}  // namespace brood
