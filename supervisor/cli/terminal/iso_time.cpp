#include "supervisor/cli/terminal/iso_time.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

namespace brood {
namespace {

using namespace std::chrono;

// Consumes the text from the front, piece by piece.  Once a piece does not fit, all later calls fail too.
class Pieces {
 public:
  explicit Pieces(std::string_view text) : rest_(text) {}

  int digits(std::size_t count) {
    int value = 0;
    if (rest_.size() < count) return fail();
    for (const char c : rest_.substr(0, count)) {
      if (c < '0' || c > '9') return fail();
      value = value * 10 + (c - '0');
    }
    rest_.remove_prefix(count);
    return value;
  }

  char one_of(std::string_view characters) {
    if (rest_.empty() || characters.find(rest_[0]) == std::string_view::npos) return static_cast<char>(fail());
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }

  bool skip(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  nanoseconds fraction() {
    std::int64_t value = 0;
    std::int64_t unit = 1'000'000'000;
    for (; !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; rest_.remove_prefix(1)) {
      if (unit == 1) continue;
      unit /= 10;
      value += (rest_[0] - '0') * unit;
    }
    if (unit == 1'000'000'000) fail();
    return nanoseconds(value);
  }

  bool at_end() const { return rest_.empty(); }
  bool failed() const { return failed_; }

 private:
  int fail() {
    failed_ = true;
    return 0;
  }
  std::string_view rest_;
  bool failed_ = false;
};

std::optional<sys_seconds> local_time(const year_month_day& date, seconds time_of_day) {
  std::tm parts{};
  parts.tm_year = static_cast<int>(date.year()) - 1900;
  parts.tm_mon = static_cast<int>(static_cast<unsigned>(date.month())) - 1;
  parts.tm_mday = static_cast<int>(static_cast<unsigned>(date.day()));
  parts.tm_sec = static_cast<int>(time_of_day.count());
  parts.tm_isdst = -1;
  const std::time_t t = std::mktime(&parts);
  if (t == -1) return std::nullopt;
  return sys_seconds(seconds(t));
}

}  // namespace

std::optional<WallTime> parse_iso_time(std::string_view text) {
  Pieces pieces(text);
  const year y(pieces.digits(4));
  pieces.one_of("-");
  const month m(static_cast<unsigned>(pieces.digits(2)));
  pieces.one_of("-");
  const day d(static_cast<unsigned>(pieces.digits(2)));
  pieces.one_of("Tt ");
  const int hour = pieces.digits(2);
  pieces.one_of(":");
  const int minute = pieces.digits(2);
  const int second = pieces.skip(':') ? pieces.digits(2) : 0;
  const nanoseconds fraction = pieces.skip('.') ? pieces.fraction() : nanoseconds(0);

  const year_month_day date = y / m / d;
  const seconds time_of_day = hours(hour) + minutes(minute) + seconds(second);
  if (pieces.failed() || !date.ok() || y < year(1970) || y > year(2200) || hour > 23 || minute > 59 || second > 59)
    return std::nullopt;
  if (pieces.at_end()) {
    const auto local = local_time(date, time_of_day);
    return local ? std::optional<WallTime>(*local + fraction) : std::nullopt;
  }

  const char zone = pieces.one_of("Zz+-");
  seconds offset{0};
  if (zone == '+' || zone == '-') {
    const int offset_hours = pieces.digits(2);
    pieces.skip(':');
    const int offset_minutes = pieces.at_end() ? 0 : pieces.digits(2);
    if (offset_hours > 15 || offset_minutes > 59) return std::nullopt;
    offset = (hours(offset_hours) + minutes(offset_minutes)) * (zone == '+' ? 1 : -1);
  }
  if (pieces.failed() || !pieces.at_end()) return std::nullopt;
  return sys_days(date) + time_of_day - offset + fraction;
}

std::string iso_time(WallTime t) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(system_clock::to_time_t(time_point_cast<seconds>(t))));
}

}  // namespace brood
