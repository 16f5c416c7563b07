#pragma once

#include <string>
#include <vector>

#include "shared/scoreboard/scoreboard.hpp"
#include "tests/support/brood_process.hpp"

namespace brood {

// The scoreboard of a `brood run`, to be read and written as a job could.  Throws when there is none yet.
Scoreboard scoreboard_of(const BroodProcess& brood);

// The living workers of a `brood run`, as its scoreboard has them.
std::vector<SlotSnapshot> living_workers(const BroodProcess& brood);

// The number of workers that are ready and neither quiet nor stopping.
int fetching_workers(const BroodProcess& brood);

}  // namespace brood
