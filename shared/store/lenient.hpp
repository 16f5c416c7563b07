#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

#include "shared/redis/reply.hpp"

// Other programs may have written anything: what cannot be read counts as nothing, never as an error.
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

// The number with which a text begins.
inline double lenient_decimal(ReplyView reply) {
  double number = 0;
  if (!reply.is_string()) return number;
  const std::string_view text = reply.text();
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

inline std::string lenient_text(ReplyView reply) { return reply.is_string() ? std::string(reply.text()) : ""; }

}  // namespace brood
