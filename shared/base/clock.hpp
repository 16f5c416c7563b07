#pragma once

#include <chrono>

namespace brood {

// A point on the calendar: what payloads, scores and log lines carry.  It jumps when an operator sets the clock.
using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>;

// A point that only moves forward: every deadline and every interval is measured with it.
using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;

inline WallTime wall_now() { return std::chrono::system_clock::now(); }
inline SteadyTime steady_now() { return std::chrono::steady_clock::now(); }

// Seconds since the epoch, as Sidekiq's sorted-set scores count them.
inline double epoch_seconds(WallTime t) { return std::chrono::duration<double>(t.time_since_epoch()).count(); }

}  // namespace brood
