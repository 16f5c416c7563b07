#include "shared/scoreboard/told_times.hpp"

#include <cstdlib>
#include <string_view>

namespace brood {
namespace {

constexpr const char *variable = "BROOD_TIMESTAMPS", *seconds = "seconds", *milliseconds = "milliseconds";

}  // namespace

void tell_times(std::optional<TimeUnit> unit) {
  if (unit) setenv(variable, *unit == TimeUnit::float_seconds ? seconds : milliseconds, 1);
}

std::optional<TimeUnit> told_times(const Environment& environment) {
  const char* const told = environment(variable);
  if (told == nullptr) return std::nullopt;
  if (std::string_view(told) == seconds) return TimeUnit::float_seconds;
  if (std::string_view(told) == milliseconds) return TimeUnit::integer_milliseconds;
  return std::nullopt;
}

}  // namespace brood
