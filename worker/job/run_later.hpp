#pragma once

#include <chrono>
#include <string>

#include "shared/base/clock.hpp"
#include "shared/job/payload.hpp"
#include "shared/store/outcome.hpp"

namespace brood {

// What becomes of a job that has not failed and yet is not done: it runs later.  While it waits in a set, its payload
// names the queue that it came from, and when it expires.  `now` is Redis's time.  Pure.

// It was interrupted after it ran for so long, and is to go on after `delay`.
Outcome go_on_later(const Payload& job, const std::string& queue, WallTime now, std::chrono::nanoseconds ran_for,
                    std::chrono::milliseconds delay);

// It is over a limit, and is tried again after `delay`.
Outcome try_after_limit(const Payload& job, const std::string& queue, WallTime now, std::chrono::milliseconds delay);

// These were not begun.

// Another job has the lock that it runs under.
Outcome wait_for_turn(const Payload& job, const std::string& queue, WallTime now);
// Its class is in quarantine.
Outcome wait_for_release(const Payload& job, const std::string& queue, WallTime now);

}  // namespace brood
