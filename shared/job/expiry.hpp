#pragma once

#include <optional>

#include "shared/base/clock.hpp"
#include "shared/job/payload.hpp"

namespace brood {

// By when a job must have begun.  Its payload says so: `expires_in`, seconds from when it was first enqueued, or
// `expiry`, a point in time, which wins and by which brood keeps what it made of the former once `enqueued_at` is
// about to change.  What is no positive number, or none in quotes, says nothing: no job is lost for a slip.

// The point in time; nullopt: the job does not expire.  One that has expired once, and that somebody runs all the same
// (`expired_at`), does not expire again.  What Ruby alone has handled since it failed counts from its first failure.
std::optional<WallTime> expiry_of(const Payload& job);

// The change by which `expires_in` keeps its end; nullopt: there is nothing to keep, or it is kept already.  Call it
// before `enqueued_at` or `failed_at` is written.
std::optional<Payload::Edit> kept_expiry(const Payload& job);
// The same for a job whose clock begins at `origin`: one that leaves `schedule`.
std::optional<Payload::Edit> kept_expiry(const Payload& job, WallTime origin);
// The change by which a job that somebody takes out of `dead` has all of its time once more.
std::optional<Payload::Edit> renewed_expiry(const Payload& job, WallTime now);

}  // namespace brood
