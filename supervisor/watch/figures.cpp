#include "supervisor/watch/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "shared/base/units.hpp"

namespace brood::watch {
namespace {

std::tm local_time(WallTime at) {
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::time_point_cast<std::chrono::system_clock::duration>(at));
  std::tm local{};
  localtime_r(&seconds, &local);
  return local;
}

}  // namespace

std::string count_text(std::uint64_t count) {
  if (count < 10'000'000) return std::to_string(count);
  const double n = static_cast<double>(count);
  return count < 10'000'000'000 ? fmt::format("{:.1f}M", n / 1e6) : fmt::format("{:.1f}G", n / 1e9);
}

std::string duration_text_of(double seconds) {
  seconds = std::clamp(seconds, 0.0, 1e10);
  if (seconds < 1) return fmt::format("{}ms", static_cast<int>(seconds * 1000));
  return duration_text(std::chrono::seconds(static_cast<std::int64_t>(seconds)));
}

std::string memory_text(std::uint64_t kilobytes) {
  const double kb = static_cast<double>(kilobytes);
  if (kilobytes < 1000) return fmt::format("{}K", kilobytes);
  if (kb < 1000.0 * 1024) return fmt::format("{:.0f}M", kb / 1024);
  return fmt::format("{:.1f}G", kb / 1024 / 1024);
}

std::string rate_text(std::optional<double> per_second) {
  if (!per_second) return "-";
  const double rate = *per_second;
  if (rate == 0) return "0";
  if (rate >= 1e7) return fmt::format("{:.1f}M", rate / 1e6);
  if (rate >= 100) return fmt::format("{:.0f}", rate);
  return rate < 0.1 ? fmt::format("{:.2f}", rate) : fmt::format("{:.1f}", rate);
}

std::string change_text(std::optional<double> per_second) {
  if (!per_second) return "-";
  const std::string size = rate_text(std::abs(*per_second));
  return size == "0" ? size : (*per_second > 0 ? "+" : "-") + size + "/s";
}

std::string percent_text(std::optional<double> percent) {
  return percent ? fmt::format("{:.{}f}", *percent, *percent < 99.95 ? 1 : 0) : "-";
}

std::string clock_text(WallTime at) {
  const std::tm time = local_time(at);
  return fmt::format("{:02}:{:02}:{:02}", time.tm_hour, time.tm_min, time.tm_sec);
}
std::string date_time_text(WallTime at) {
  const std::tm time = local_time(at);
  return fmt::format("{:04}-{:02}-{:02} {}", time.tm_year + 1900, time.tm_mon + 1, time.tm_mday, clock_text(at));
}

}  // namespace brood::watch
