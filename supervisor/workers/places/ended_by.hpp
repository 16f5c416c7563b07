#pragma once

namespace brood {

// The cause of a worker's end, as the supervisor knows it.
enum class EndedBy {
  itself,    // the worker, or a process outside brood
  brood,     // a stop, a deploy, a recycle
  timeout,   // its job ran past its deadline
  by_hand,   // `brood kill`: the operator chooses the job's outcome
  protocol,  // its job wrote into the control pipe
};

}  // namespace brood
