#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "shared/base/clock.hpp"

namespace brood::watch {

// Figures in few columns.
std::string count_text(std::uint64_t count);              // 9999999, then 10.0M, 1.2G
std::string duration_text_of(double seconds);             // 12ms, 9s, 2m5s
std::string memory_text(std::uint64_t kilobytes);         // 980K, 12M, 1.2G
std::string rate_text(std::optional<double> per_second);  // 0, 0.2, 12.3, 4567; "-" if unknown
std::string change_text(std::optional<double> per_second);
std::string percent_text(std::optional<double> percent);
std::string clock_text(WallTime at);      // 17:40:01, local time
std::string date_time_text(WallTime at);  // 2026-11-21 17:40:01, local time

}  // namespace brood::watch
