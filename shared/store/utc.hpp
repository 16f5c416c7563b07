#pragma once

#include <string>

#include "shared/base/clock.hpp"

namespace brood {

// The parts of a point in time, in UTC, as Sidekiq spells them in keys.
struct Utc {
  explicit Utc(WallTime t);

  int year;
  unsigned month, day;
  int hour, minute;

  std::string date(char separator) const;  // 2026-11-21
  std::string date() const;                // 20261121
};

}  // namespace brood
