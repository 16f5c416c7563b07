#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// Sidekiq's counters of all time, and the sizes of the three sets.
template <std::integral Number>
struct Totals {
  Number processed = 0, failed = 0, scheduled = 0, retries = 0, dead = 0;
};

inline constexpr std::size_t totals_asked = 5;
std::vector<Command> ask_totals();  // totals_asked of them
// Throws UnexpectedReply for a key of another type, or one that may not be read.
Totals<std::int64_t> read_totals(std::span<const Reply> replies);
// The same, but such a key counts as 0.
Totals<std::uint64_t> read_totals_leniently(std::span<const Reply> replies);

// Sets them to 0; the counters of days stay.
Command reset_totals();

// The last days in UTC, the one of `now` first, as YYYY-MM-DD.
std::vector<std::string> last_days(WallTime now, int count);

// The counters of days.
struct CountsOfDay {
  std::string day;
  std::uint64_t processed = 0, failed = 0;
};
Command ask_counts_of_days(const std::vector<std::string>& days);
std::vector<CountsOfDay> read_counts_of_days(const std::vector<std::string>& days, ReplyView reply);

}  // namespace brood
