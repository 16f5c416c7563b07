#pragma once

#include <chrono>

#include <brood/push.hpp>

#include "shared/base/clock.hpp"
#include "shared/job/random_bytes.hpp"

namespace brood {

// Gives a job a random time between now and now plus `spread`, at least 5 s.  Throws std::invalid_argument if it is not
// positive, or if the job has a time.
void spread_out(Push& job, std::chrono::milliseconds spread, WallTime now, RandomBytes& random);

}  // namespace brood
