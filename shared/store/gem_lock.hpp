#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/store/holdings.hpp"

namespace brood {

// Locks of the gem sidekiq-unique-jobs, releases 8 and 9: its Ruby client takes one when it pushes a job, and names it
// in the payload.  The process that ends the job must let go of the lock, or the next push is dropped.  brood takes
// none.
//
// The jids of the holders are in a hash <digest>:LOCKED.  When the last is gone, the digest leaves the sorted set of
// all locks, and the texts and the list that release 8 keeps beside the hash are deleted.  <digest>:QUEUED stays: a
// client about to take the lock has left its jid there.
struct GemLock {
  enum class Until {
    begin,   // of the job that holds it
    end,     // any end of the job that holds it
    expiry,  // or the death or deletion of its job
  };
  std::string digest, jid;
  Until until = Until::end;
};

// Whether this process serves them: the value last set, else that of its environment (BROOD_SIDEKIQ_UNIQUE_JOBS=1).
bool gem_locks_are_served();
void serve_gem_locks(bool served);
// Sets it for this process, and by the environment for its children.
void tell_to_serve_gem_locks(bool served);

// Part of the text of each job that holds one.
inline constexpr std::string_view mark_of_gem_lock = "\"lock_digest\"";

// The lock that a payload names; nullopt if there is none, if it cannot be the gem's, or if they are not served.
std::optional<GemLock> gem_lock_named_by(std::string_view payload);
std::optional<GemLock> gem_lock_named_by(const Payload& job);

// Adds the lock, and what goes with its last holder.
void append_held(std::vector<LetGo>& all, const GemLock& lock, std::size_t entry);

}  // namespace brood
