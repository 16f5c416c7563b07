#pragma once

#include <compare>
#include <optional>
#include <string_view>

#include "shared/base/time_unit.hpp"

namespace brood {

// How `retry_for` of a payload works beside the count of its retries.
enum class RetryFor {
  ignored,  // it is stored, and only the count holds
  both,     // whichever limit comes first
  alone,    // only the time holds
};

// A release of Sidekiq, for what differs from one to the next.
struct SidekiqRelease {
  int major = 6, minor = 0, patch = 0;

  auto operator<=>(const SidekiqRelease&) const = default;

  // "7.3.10"; what is left out counts as the newest: "7" is the last of 7.  nullopt: no release, or older than 6.
  static std::optional<SidekiqRelease> parse(std::string_view text);

  TimeUnit time_unit() const;  // of the times it writes, and the only one that it is sure to read
  RetryFor retry_for() const;
};

}  // namespace brood
