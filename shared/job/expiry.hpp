#pragma once

#include <optional>

#include "shared/base/clock.hpp"
#include "shared/job/payload.hpp"

namespace brood {

// The deadline by which a job must have begun.  Two members of its payload set it: `expires_in`, seconds from when the
// job was first enqueued, and `expiry`, a point in time, which wins.  Before `enqueued_at` changes, brood stores the
// end of `expires_in` as `expiry`.  A value that is no positive number, in quotes or not, is ignored, so that no job is
// lost for a slip.

// The point in time; nullopt if the job does not expire.  A job that has expired once (it has `expired_at`), and that a
// user runs all the same, does not expire again.  If only Ruby has handled a job since it failed, `expires_in` counts
// from its first failure.
std::optional<WallTime> expiry_of(const Payload& job);

// The edit that stores the end of `expires_in` as `expiry`; nullopt if the job has no `expires_in`, or has `expiry`.
// Call it before `enqueued_at` or `failed_at` is written.
std::optional<Payload::Edit> kept_expiry(const Payload& job);
// The same for a job that leaves `schedule`: `expires_in` counts from `origin`.
std::optional<Payload::Edit> kept_expiry(const Payload& job, WallTime origin);
// The edit that gives a job all of its time again when a user takes it out of `dead`.
std::optional<Payload::Edit> renewed_expiry(const Payload& job, WallTime now);

}  // namespace brood
