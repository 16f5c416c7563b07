#pragma once

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

// Durations and points in time as numbers of seconds, as in Ruby.
#pragma GCC visibility push(hidden)
namespace brood::detail {

template <typename Type>
inline constexpr bool is_duration = false;
template <typename Rep, typename Period>
inline constexpr bool is_duration<std::chrono::duration<Rep, Period>> = true;

// Whether a time is one of the system's clock.  Other times have no meaning on another machine.
template <typename Type>
inline constexpr bool is_wall_time = false;
template <typename Duration>
inline constexpr bool is_wall_time<std::chrono::time_point<std::chrono::system_clock, Duration>> = true;

// Whether a duration is in whole seconds, minutes or longer units.  Such durations are written as integers.
template <typename Duration>
inline constexpr bool has_whole_seconds =
    Duration::period::den == 1 && !std::chrono::treat_as_floating_point_v<typename Duration::rep>;

// Returns a text such as "a number of seconds, in steps of 1/1000".
template <typename Duration>
std::string expected_seconds() {
  if constexpr (std::chrono::treat_as_floating_point_v<typename Duration::rep>) return "a number of seconds";
  const std::string steps = std::to_string(Duration::period::num) +
                            (Duration::period::den == 1 ? "" : "/" + std::to_string(Duration::period::den));
  return "a number of seconds" + (steps == "1" ? ", without a fraction" : ", in steps of " + steps);
}

template <typename Duration>
double seconds_of(Duration length) {
  return static_cast<double>(static_cast<long double>(length.count()) * Duration::period::num / Duration::period::den);
}

// Returns nullopt if the type does not have the value: it is too large, or between two steps of the type.
template <typename Duration>
std::optional<Duration> duration_of_seconds(std::string_view number) {
  using Rep = typename Duration::rep;
  double seconds = 0;
  if (std::from_chars(number.data(), number.data() + number.size(), seconds).ec != std::errc()) return std::nullopt;
  if constexpr (std::chrono::treat_as_floating_point_v<Rep>) {
    return Duration(static_cast<Rep>(seconds * Duration::period::den / Duration::period::num));
  } else {
    const long double count = static_cast<long double>(seconds) * Duration::period::den / Duration::period::num;
    const long double whole = std::round(count);
    // 2^digits is the first number that is too large, and every floating point type has it exactly.
    const long double limit = std::ldexp(1.0L, std::numeric_limits<Rep>::digits);
    if (!(whole < limit) || whole < (std::is_signed_v<Rep> ? -limit : 0.0L)) return std::nullopt;
    const Duration length(static_cast<Rep>(whole));
    return seconds_of(length) == seconds ? std::optional(length) : std::nullopt;
  }
}

}  // namespace brood::detail
#pragma GCC visibility pop
