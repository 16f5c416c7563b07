#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace brood {

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
