#pragma once

#include "shared/job/payload.hpp"
#include "worker/session/session.hpp"

namespace brood {

// The question of a unique job to Redis before it begins; most jobs ask nothing.
enum class UniqueTurn {
  begins,   // at once
  holds,    // it has the lock while it runs: it is settled at once, which lets go of that
  waits,    // another runs under its lock, or that is no lock: its turn comes later
  behind,   // another has its lock and waits behind it in its sequence: that one goes first
  dropped,  // another runs under its lock, and it wants no turn
  fenced,   // this incarnation is the worker's no longer: nothing may be begun
};

// Takes the lock of a job that wants one while it runs, or that was pushed while another held it, and lets go of that
// of one that held it until now.  While Redis is away it waits, as a settle does, and throws what that throws.
UniqueTurn take_unique_turn(Session& session, const Payload& job);

}  // namespace brood
