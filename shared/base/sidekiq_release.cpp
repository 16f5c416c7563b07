#include "shared/base/sidekiq_release.hpp"

#include <charconv>

namespace brood {
namespace {

constexpr int newest = 999;

}  // namespace

std::optional<SidekiqRelease> SidekiqRelease::parse(std::string_view text) {
  SidekiqRelease release{newest, newest, newest};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int* const part : {&release.major, &release.minor, &release.patch}) {
    const auto read = std::from_chars(at, end, *part);
    if (read.ec != std::errc() || *part < 0) return std::nullopt;
    at = read.ptr;
    // The rest after a patch, as in "8.0.0.beta1", does not matter here.
    if (at == end || part == &release.patch) break;
    if (*at++ != '.') return std::nullopt;
  }
  if (release.major < 6 || release.major >= newest) return std::nullopt;
  return release;
}

TimeUnit SidekiqRelease::time_unit() const {
  return major >= 8 ? TimeUnit::integer_milliseconds : TimeUnit::float_seconds;
}

RetryFor SidekiqRelease::retry_for() const {
  if (*this < SidekiqRelease{7, 1, 3}) return RetryFor::ignored;
  return *this < SidekiqRelease{8, 1, 0} ? RetryFor::both : RetryFor::alone;
}

}  // namespace brood
