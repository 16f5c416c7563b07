#pragma once

#include <charconv>
#include <chrono>
#include <cmath>
#include <concepts>
#include <string>
#include <string_view>

#include "shared/base/clock.hpp"
#include "shared/redis/reply.hpp"

// For keys that other programs write: a value that cannot be read counts as nothing, never as an error.
namespace brood {

template <std::integral Number>
Number lenient_number(ReplyView reply) {
  Number number = 0;
  if (reply.is_integer())
    return reply.integer() < 0 && std::unsigned_integral<Number> ? 0 : static_cast<Number>(reply.integer());
  if (!reply.is_string()) return number;
  const std::string_view text = reply.text();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

// The number at the beginning of a text; 0 if there is none.
inline double lenient_decimal(ReplyView reply) {
  double number = 0;
  if (!reply.is_string()) return number;
  const std::string_view text = reply.text();
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Returns the epoch for a time out of range.  A double cannot hold so many nanoseconds, so seconds and fraction are
// converted separately.
inline WallTime lenient_moment(double epoch_seconds) {
  if (!(std::abs(epoch_seconds) < 9.2e9)) return {};
  const double whole = std::floor(epoch_seconds);
  return WallTime(std::chrono::seconds(static_cast<std::int64_t>(whole)) +
                  std::chrono::nanoseconds(std::llround((epoch_seconds - whole) * 1e9)));
}

inline std::string lenient_text(ReplyView reply) { return reply.is_string() ? std::string(reply.text()) : ""; }

}  // namespace brood
