#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/job/uniqueness.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/outcome.hpp"
#include "shared/store/script.hpp"
#include "shared/store/sets/due_jobs.hpp"

namespace brood {

// An entry of `schedule`, `retry` or `dead` as it was read.  If another process has changed it since, our change does
// not apply.
struct EntryAsRead {
  std::string_view member, score_text;
};

inline constexpr std::size_t max_entries_changed = 250;  // by one script

// Up to `count` entries after `seen`, or from the first if that is null.  `anchor` is an earlier entry that is more
// likely to be there still.  If both have gone, all remaining entries with the score of `seen` come again.
ScriptCall set_page(std::string_view set_key, bool highest_first, std::size_t count, const EntryAsRead* seen,
                    const EntryAsRead* anchor);

// Answers how many were removed.
ScriptCall remove_entries(std::string_view set_key, const std::vector<EntryAsRead>& entries);

// Moves entries to the dead set and trims it; without entries it only trims.
ScriptCall kill_entries(std::string_view set_key, const std::vector<EntryAsRead>& entries, WallTime now,
                        const DeadLimits& limits);
struct Killed {
  std::size_t moved = 0;
  bool trimmed = true;  // false: the dead set is still too large; call again
};
Killed read_killed(ReplyView reply);

// The expiring lock of an entry's job: it must live for at least `longest` from now.
struct LockToKeep {
  std::string lock, jid;
  std::chrono::milliseconds longest{};
};
// Answers 1, or 0 if another process moved, deleted or rescheduled it.
ScriptCall reschedule_entry(std::string_view set_key, const EntryAsRead& entry, const std::string& new_score,
                            const std::optional<LockToKeep>& lock = std::nullopt);

// The lock that a dead job has let go of, and takes again when it is moved back to its queue.
struct LockOfDead {
  std::string lock, jid;
  std::chrono::milliseconds longest{0};  // that it lives; 0: as long as the job
  bool may_wait = false;                 // raise it even if another holds the lock: it begins once that is free
};
std::optional<LockOfDead> lock_of_dead(std::string_view payload);  // nullopt: it had none

// Moves such a job from the dead set to its queue.
ScriptCall raise_unique(DueJob job, const LockOfDead& lock);

struct Raised {
  enum class Kind {
    moved,
    gone,   // another process moved or deleted it
    stuck,  // the queue's key is no list
    held,   // another job holds its lock: it stays
  } kind = Kind::moved;
  std::string holder = {};  // if held: the jid of that job
};
Raised read_raised(ReplyView reply);  // throws UnexpectedReply

}  // namespace brood
