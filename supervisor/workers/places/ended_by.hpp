#pragma once

namespace brood {

// Who ended a worker.
enum class EndedBy {
  itself,    // or somebody that brood knows nothing of
  brood,     // a stop, a deploy, a recycle
  timeout,   // its job ran on after its deadline
  by_hand,   // `brood kill`: the operator chooses what becomes of the job
  protocol,  // its job wrote into the control pipe
};

}  // namespace brood
