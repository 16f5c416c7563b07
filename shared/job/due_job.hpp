#pragma once

#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "shared/base/clock.hpp"
#include "shared/base/time_unit.hpp"

namespace brood {

// The new text of a member of `retry` or `schedule` whose time has come.
struct RewrittenJob {
  std::string queue;    // bare name; empty: no queue can take it, it goes to the dead set
  std::string payload;  // with the members that Sidekiq's client adds at a push; for the dead set with the reason
  std::string reason;   // why it goes to the dead set, a sentence
};

// How `retry_count` changes: a run that a user asked for does not count as an attempt, so Sidekiq subtracts one.
enum class RetryCount { as_it_is, one_less };

// The time from which `expires_in` counts (expiry.hpp).
struct ExpiryClock {
  enum class Kind {
    goes_on,       // out of `retry`: still from when the job was first enqueued
    begins,        // out of `schedule`: from `from`, when the job was due
    begins_again,  // out of `dead`: from now, since a user wants the job to run after all
  } kind = Kind::goes_on;
  WallTime from{};
};

// Reads one member and writes what a push writes: enqueued_at in the payload's own unit, or in `otherwise` if it has no
// time; queue, jid and created_at if they are missing.  A job with `expires_in` gets `expiry`, since enqueued_at no
// longer shows when that began.  Never throws because of the member: one that is no job goes to the dead set, see
// record_of_unreadable().
RewrittenJob prepare_due_job(std::string_view member, WallTime now, std::mt19937_64& random, TimeUnit otherwise,
                             RetryCount retry_count = RetryCount::as_it_is, ExpiryClock clock = {});

}  // namespace brood
