#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

// The content of a file below /usr/share/zoneinfo (RFC 8536, "TZif"): when a time zone's clocks were changed, and by
// which rule they will be.  Read here, and not by a library: from the same data the C++ library makes other times than
// the C library, and other ones in each release.
class ZoneFile {
 public:
  // The time around a moment in which clocks are not changed, and how much they are ahead of UTC.
  struct Span {
    std::chrono::sys_seconds begin, end;
    std::chrono::seconds ahead;
  };

  // Returns nullopt if these are no such data, or count leap seconds.
  static std::optional<ZoneFile> parse(std::string_view bytes);

  Span around(std::chrono::sys_seconds moment) const;

 private:
  // A day of each year, and a time on the clock that is shown until then; it may be more than a day, or below 0.
  struct YearlyChange {
    enum class Kind { month_week_day, day_without_leap_day, day } kind = Kind::day;
    int month = 0, week = 0, day = 0;  // of the other kinds the day alone
    std::chrono::seconds time{0};

    std::chrono::local_seconds in(std::chrono::year year) const;
  };
  struct Rule {
    std::chrono::seconds standard{0}, summer{0};         // how much clocks are ahead
    std::optional<std::array<YearlyChange, 2>> changes;  // to summer time and back; nullopt: never
  };
  struct Change {
    std::chrono::sys_seconds at;
    std::chrono::seconds ahead;  // from then on
  };
  friend class RuleReader;

  std::vector<Change> changes_between(std::chrono::year first, std::chrono::year last) const;

  std::chrono::seconds first_ahead_{0};  // before all changes
  std::vector<Change> changes_;
  std::optional<Rule> rule_;  // after them; nullopt: nothing changes any more
};

// A time zone by its name in the machine's data (/usr/share/zoneinfo): "Europe/Berlin".  "UTC" needs no data.  The data
// of a zone are read when it is first asked for, and kept as long as the process lives.
class Zone {
 public:
  Zone() = default;  // UTC

  // Returns nullopt if the machine has no such zone, or no data of it.
  static std::optional<Zone> find(std::string_view name);
  // A zone that is always `ahead` of UTC.
  static Zone fixed(std::string_view name, std::chrono::seconds ahead);
  // The known name that `name` is probably a misspelling of; nullopt: none is.
  static std::optional<std::string> like(const std::string& name);

  const std::string& name() const { return name_; }

  using Span = ZoneFile::Span;
  Span around(std::chrono::sys_seconds moment) const;

 private:
  std::string name_ = "UTC";
  const ZoneFile* file_ = nullptr;  // null: UTC, or a fixed distance from it
  std::chrono::seconds ahead_{0};
};

}  // namespace brood
