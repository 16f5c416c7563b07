#pragma once

#include "shared/job/payload.hpp"
#include "worker/session/session.hpp"

namespace brood {

// Whether a unique job may begin, as Redis answers; most jobs need not ask.
enum class UniqueTurn {
  begins,   // at once
  holds,    // it has its lock while it runs, so it must be settled at once, which lets go of the lock
  waits,    // another job runs under its lock, or the lock's key has another type: its turn comes later
  behind,   // another job has its lock and waits behind it in its sequence: that job goes first
  dropped,  // another job runs under its lock, and this one does not wait for it
  fenced,   // the incarnation is no longer the worker's: nothing may be begun
};

// Takes the lock of a job that has one while it runs, or that was pushed while another job held it.  Lets go of the
// lock of a job that holds it only until it begins.  While Redis is away it waits, as a settle does, and throws the
// same.
UniqueTurn take_unique_turn(Session& session, const Payload& job);

}  // namespace brood
