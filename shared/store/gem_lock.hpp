#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/store/holdings.hpp"

namespace brood {

// Locks of the gem sidekiq-unique-jobs, releases 8 and 9: its Ruby client takes one when it pushes a job, and names it
// in the payload; whoever ends the job lets go of it, or the next push is dropped.  brood takes none.
//
// The holders are a hash <digest>:LOCKED, their jids.  When the last has gone, the digest goes from the sorted set of
// all, and so do the texts and the list that release 8 keeps beside the hash.  Its <digest>:QUEUED stays: a client that
// is about to take the lock has left its jid there.
struct GemLock {
  enum class Until {
    begin,   // of the job that holds it
    end,     // of whatever kind
    expiry,  // or until its job dies or is deleted
  };
  std::string digest, jid;
  Until until = Until::end;
};

// Whether this process serves them: as it was told, else as its environment says (BROOD_SIDEKIQ_UNIQUE_JOBS=1).
bool gem_locks_are_served();
void serve_gem_locks(bool served);
// This process, and what it starts.
void tell_to_serve_gem_locks(bool served);

// What the text of each job has that holds one.
inline constexpr std::string_view mark_of_gem_lock = "\"lock_digest\"";

// The one that a payload names; nullopt for none, for what cannot be the gem's, and where they are not served.
std::optional<GemLock> gem_lock_named_by(std::string_view payload);
std::optional<GemLock> gem_lock_named_by(const Payload& job);

// Adds it, and what goes with its last holder.
void append_held(std::vector<LetGo>& all, const GemLock& lock, std::size_t entry);

}  // namespace brood
