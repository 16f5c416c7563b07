#pragma once

#include <compare>
#include <optional>
#include <string_view>

#include "shared/base/time_unit.hpp"

namespace brood {

// How `retry_for` of a payload works together with the count of its retries.
enum class RetryFor {
  ignored,  // it is stored, and only the count limits retries
  both,     // whichever limit comes first
  alone,    // only the time limits retries
};

// A release of Sidekiq, for behaviour that differs between releases.
struct SidekiqRelease {
  int major = 6, minor = 0, patch = 0;

  auto operator<=>(const SidekiqRelease&) const = default;

  // Reads "7.3.10".  A missing part counts as the newest: "7" is the last release of 7.  nullopt if the text is no
  // release, or one older than 6.
  static std::optional<SidekiqRelease> parse(std::string_view text);

  TimeUnit time_unit() const;  // of the times it writes, and the only one that it is sure to read
  RetryFor retry_for() const;
};

}  // namespace brood
