#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace brood {

// A text that is no rule.  what() is a sentence that names the field: `the hour "25" is not within 0 to 23`.
class CronError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A rule, or a part of one, as an error shows it: its beginning, in quotes.
std::string shown_rule(std::string_view text);

// A rule for repeated times of a wall clock, in the syntax of cron(8).  Pure.
//
// Minute, hour, day of the month, month, day of the week, and optionally seconds in front of them.  Each field is `*`,
// or a list of values and ranges, with steps, and with names for months and days of the week (0 and 7 are Sunday).  If
// neither field of days begins with `*`, one of the two has to fit, else both.  @yearly, @annually, @monthly, @weekly,
// @daily, @midnight and @hourly are rules too.
struct CronRule {
  // A bit for each value that fits.
  std::uint64_t seconds = 1, minutes = 0, hours = 0, days = 0, months = 0, weekdays = 0;
  // Only rules of another syntax have these (fugit_rule.hpp): days counted from the end of the month, where 1 is the
  // last; and the n-th of a weekday in its month, from the beginning or the end, at bit 5 * weekday + n - 1.
  std::uint64_t days_from_end = 0, nth_weekdays = 0, nth_weekdays_from_end = 0;
  bool either_day = false;  // a day of the month or of the week is enough
  // Whether minute and hour are given without `*` and steps: such a time comes once a day, also when the clock is
  // changed.  Other rules follow the time that passes.
  bool names_time = false;

  // Throws CronError.
  static CronRule parse(std::string_view text);

  // Whether a moment of the wall clock fits.
  bool fits(std::chrono::local_seconds moment) const;
  // The first such moment from `begin` on and before `end`.
  std::optional<std::chrono::local_seconds> first_within(std::chrono::local_seconds begin,
                                                         std::chrono::local_seconds end) const;
  // Whether it fits at most once within any hour.
  bool is_hourly_at_most() const;
};

// A field of a rule: which values it may have.  cron(8) and fugit share them.
struct CronField {
  std::string_view name;
  int least, most;
  std::string_view words = {};  // for the values from `least` on, of three letters each

  // The value of a word such as "mon", in either case.
  std::optional<int> named(std::string_view word) const;
  // Throws the CronError "the hour "25" is not within 0 to 23".
  [[noreturn]] void refuse(std::string_view text, const std::string& why) const;
};

inline constexpr std::array<CronField, 6> cron_fields{{{"second", 0, 59},
                                                       {"minute", 0, 59},
                                                       {"hour", 0, 23},
                                                       {"day of the month", 1, 31},
                                                       {"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
                                                       {"day of the week", 0, 6, "sunmontuewedthufrisat"}}};

// The five fields that @yearly, @annually, @monthly, @weekly, @daily, @midnight or @hourly stands for.
std::optional<std::string_view> fields_of_nickname(std::string_view nickname);

}  // namespace brood
