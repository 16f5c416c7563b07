#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace brood {

// The upper bounds of Sidekiq's histogram of durations, in milliseconds; the last bucket has none (wire specification,
// section 5.7).
inline constexpr std::array<std::uint32_t, 25> histogram_bounds{
    20,    30,    45,    65,     100,    150,    225,    335,    500,     750,     1'100,   1'700,  2'500,
    3'800, 5'750, 8'500, 13'000, 20'000, 30'000, 45'000, 65'000, 100'000, 150'000, 225'000, 335'000};
inline constexpr std::size_t histogram_buckets = histogram_bounds.size() + 1;

// The first bucket whose bound is greater.
constexpr std::size_t histogram_bucket(std::uint64_t ms) {
  if (ms < histogram_bounds.front()) return 0;  // the usual case where jobs are many
  return static_cast<std::size_t>(std::upper_bound(histogram_bounds.begin(), histogram_bounds.end(), ms) -
                                  histogram_bounds.begin());
}

}  // namespace brood
