#include "shared/scoreboard/shared_counts.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "shared/base/clock.hpp"

namespace brood {

std::uint64_t highest_believed_count() {
  const auto up = std::chrono::ceil<std::chrono::seconds>(steady_now().time_since_epoch());
  return std::min(largest_count, static_cast<std::uint64_t>(up.count() + 1) * 1'000'000);
}

std::uint64_t TimeCounts::count() const { return std::accumulate(buckets.begin(), buckets.end(), std::uint64_t{0}); }

// Skips zeros, since each addition may have to fetch the memory from another processor.
void SharedTimeCounts::add(const TimeCounts& more) {
  for (std::size_t i = 0; i < wide_buckets; ++i) {
    if (more.buckets[i] > 0) buckets[i].fetch_add(more.buckets[i], std::memory_order_release);
  }
  if (more.ms > 0) ms.fetch_add(more.ms, std::memory_order_relaxed);
}

TimeCounts SharedTimeCounts::read() const {
  TimeCounts counts;
  counts.ms = std::min(ms.load(), largest_count);
  for (std::size_t i = 0; i < wide_buckets; ++i) counts.buckets[i] = std::min(buckets[i].load(), largest_count);
  return counts;
}

}  // namespace brood
