#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shared/base/clock.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/sets/set_entries.hpp"

namespace brood {

// The sets whose entries come due, in Sidekiq's order, for the operations of this room and for the log.
extern const std::array<std::string_view, 2> due_sets;
inline constexpr std::size_t schedule_of_due_sets = 1;

// A time as a score, to the microsecond.
std::string due_score(WallTime t);

// The lowest score in a set above `above`.  With nullopt the lowest of all, or "-inf" if that is due.  Reading gives
// its text, or nullopt if there is none, and throws UnexpectedReply.  Redis sends no entry for it: one may be large.
Command ask_first_score(std::string_view set_key, const std::optional<std::string>& above);
std::optional<std::string> read_first_score(ReplyView reply);

// How many entries of `schedule` have a lower score.  Reading throws UnexpectedReply.
Command ask_scheduled_below(std::string_view score);
std::int64_t read_scheduled_below(ReplyView reply);

// Up to `count` entries of a set with scores up to `score`, lowest first, after the first `skipped`.
Command ask_due_entries(std::string_view set_key, const std::string& score, std::size_t skipped, std::size_t count);

// The entries of an answer, which it owns.  All functions throw UnexpectedReply.
class DueEntries {
 public:
  DueEntries() = default;
  explicit DueEntries(Reply reply);
  std::size_t size() const { return size_; }
  EntryAsRead operator[](std::size_t i) const;  // points into the answer

 private:
  Reply reply_;
  std::size_t size_ = 0;
};

}  // namespace brood
