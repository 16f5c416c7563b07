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

// The first bucket whose bound is greater than `ms`.
constexpr std::size_t histogram_bucket(std::uint64_t ms) {
  if (ms < histogram_bounds.front()) return 0;  // the usual case where jobs are many
  return static_cast<std::size_t>(std::upper_bound(histogram_bounds.begin(), histogram_bounds.end(), ms) -
                                  histogram_bounds.begin());
}

// Fewer and wider bounds, for durations that are counted for many names and may be hours long: how long jobs waited,
// and how long the runs of a queue took.
inline constexpr std::array<std::uint32_t, 12> wide_bounds{5,      25,     100,     500,     1'000,     5'000,
                                                           15'000, 60'000, 300'000, 900'000, 3'600'000, 21'600'000};
inline constexpr std::size_t wide_buckets = wide_bounds.size() + 1;

// The first of these buckets whose bound is greater than `ms`.
constexpr std::size_t wide_bucket(std::uint64_t ms) {
  std::size_t bucket = 0;
  while (bucket < wide_bounds.size() && ms >= wide_bounds[bucket]) ++bucket;
  return bucket;
}

}  // namespace brood
