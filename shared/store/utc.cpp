#include "shared/store/utc.hpp"

#include <fmt/format.h>

namespace brood {

Utc::Utc(WallTime t) {
  const auto days = std::chrono::floor<std::chrono::days>(t);
  const std::chrono::year_month_day date(days);
  const std::chrono::hh_mm_ss time(std::chrono::floor<std::chrono::minutes>(t - days));
  year = static_cast<int>(date.year());
  month = static_cast<unsigned>(date.month());
  day = static_cast<unsigned>(date.day());
  hour = static_cast<int>(time.hours().count());
  minute = static_cast<int>(time.minutes().count());
}

std::string Utc::date(char separator) const {
  return fmt::format("{:04}{}{:02}{}{:02}", year, separator, month, separator, day);
}

std::string Utc::date() const { return fmt::format("{:04}{:02}{:02}", year, month, day); }

}  // namespace brood
