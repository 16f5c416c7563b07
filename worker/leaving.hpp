#pragma once

#include "shared/scoreboard/scoreboard.hpp"

namespace brood {

// How a worker may leave a shard that is away.
enum class Leaving {
  not_yet,  // of some job its slot does not tell in full what is to become of it
  goes_on,  // it has nothing to settle: what it holds was not begun, and it goes on in another shard
  ends,     // its slot tells what has become of each job, for the recovery when the shard is back
};

// `has_outcomes`: of jobs that have run, and that are not known to be settled.
Leaving how_to_leave(const WorkerSlot& slot, bool has_outcomes);

}  // namespace brood
