#pragma once

#include <string>
#include <vector>

#include "shared/scoreboard/scoreboard.hpp"
#include "tests/support/brood_process.hpp"

namespace brood {

// The scoreboard of a `brood run`, which a test may read and write as a job could.  Throws if there is none yet.
Scoreboard scoreboard_of(const BroodProcess& brood);

// The living workers of a `brood run` according to its scoreboard.
std::vector<SlotSnapshot> living_workers(const BroodProcess& brood);

// The number of workers that are ready and neither quiet nor stopping.
int fetching_workers(const BroodProcess& brood);

}  // namespace brood
