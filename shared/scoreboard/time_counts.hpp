#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "shared/base/histogram.hpp"

namespace brood {

// A count that somebody scribbled over must still be a number to whoever reads JSON.
inline constexpr std::uint64_t largest_count = (1ULL << 53) - 1;

// The highest count of runs, or of what can happen once in a run, that readers for alerts believe: a million for each
// second since this machine was booted.  A job wrote what is above that.
std::uint64_t highest_believed_count();

// How long things took: how many of them lie in each of the wide buckets, and all of their milliseconds.
struct TimeCounts {
  std::array<std::uint64_t, wide_buckets> buckets = {};
  std::uint64_t ms = 0;

  void add(std::uint64_t took_ms) {
    ++buckets[wide_bucket(took_ms)];
    ms += took_ms;
  }
  std::uint64_t count() const;
};

// The same in shared memory, where any worker adds to it.
struct SharedTimeCounts {
  std::array<std::atomic<std::uint64_t>, wide_buckets> buckets;
  std::atomic<std::uint64_t> ms;

  void add(const TimeCounts& more);
  TimeCounts read() const;  // in bounds, whatever a job wrote there
};

}  // namespace brood
