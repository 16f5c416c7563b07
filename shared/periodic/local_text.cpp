#include "shared/periodic/local_text.hpp"

#include <fmt/format.h>

namespace brood {

using namespace std::chrono;

std::string local_text(sys_seconds moment, seconds ahead) {
  const sys_seconds shown = moment + ahead;
  const sys_days day = floor<days>(shown);
  const year_month_day date(day);
  const hh_mm_ss time(shown - day);
  const auto minutes_ahead = abs(duration_cast<minutes>(ahead)).count();
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} {}{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), time.hours().count(),
                     time.minutes().count(), time.seconds().count(), ahead < seconds(0) ? '-' : '+', minutes_ahead / 60,
                     minutes_ahead % 60);
}

}  // namespace brood
