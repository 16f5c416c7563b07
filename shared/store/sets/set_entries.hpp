#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/outcome.hpp"
#include "shared/store/script.hpp"

namespace brood {

// An entry of `schedule`, `retry` or `dead` as it was read: whoever changed it since wins.
struct EntryAsRead {
  std::string_view member, score_text;
};

inline constexpr std::size_t max_entries_changed = 250;  // by one script

// Up to `count` entries after `seen`, or from the first when that is null.  `anchor` is an earlier entry that is more
// likely to be there still.  When both have gone, all entries left with the score of `seen` come again.
ScriptCall set_page(std::string_view set_key, bool highest_first, std::size_t count, const EntryAsRead* seen,
                    const EntryAsRead* anchor);

// Answers how many were removed.
ScriptCall remove_entries(std::string_view set_key, const std::vector<EntryAsRead>& entries);

// Moves entries to the dead set and trims it; without entries it only trims.
ScriptCall kill_entries(std::string_view set_key, const std::vector<EntryAsRead>& entries, WallTime now,
                        const DeadLimits& limits);
struct Killed {
  std::size_t moved = 0;
  bool trimmed = true;  // false: the dead set is still too large, call again
};
Killed read_killed(ReplyView reply);

// The lock of an entry that ends by itself: it is to live so long from now at least.
struct LockToKeep {
  std::string lock, jid;
  std::chrono::milliseconds longest{};
};
// Answers 1, or 0 when somebody else moved, deleted or rescheduled it.
ScriptCall reschedule_entry(std::string_view set_key, const EntryAsRead& entry, const std::string& new_score,
                            const std::optional<LockToKeep>& lock = std::nullopt);

}  // namespace brood
