#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "shared/base/histogram.hpp"

namespace brood {

// The largest number that every JSON parser reads exactly.  A count that was scribbled over is cut to it.
inline constexpr std::uint64_t largest_count = (1ULL << 53) - 1;

// The highest plausible count of runs, or of events that happen once in a run: a million for each second since this
// machine was booted.  Readers drop higher counts, which a job wrote.
std::uint64_t highest_believed_count();

// A histogram of durations by the wide buckets, and their sum in milliseconds.
struct TimeCounts {
  std::array<std::uint64_t, wide_buckets> buckets = {};
  std::uint64_t ms = 0;

  void add(std::uint64_t took_ms) {
    ++buckets[wide_bucket(took_ms)];
    ms += took_ms;
  }
  std::uint64_t count() const;
};

// The same in shared memory, where all workers add to it.
struct SharedTimeCounts {
  std::array<std::atomic<std::uint64_t>, wide_buckets> buckets;
  std::atomic<std::uint64_t> ms;

  void add(const TimeCounts& more);
  TimeCounts read() const;  // in bounds, whatever a job wrote there
};

}  // namespace brood
