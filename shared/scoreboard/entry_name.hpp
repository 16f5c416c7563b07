#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "shared/base/histogram.hpp"

namespace brood {

// Whose an entry of a table in shared memory is.  Any worker may claim one, or scribble over it: an entry is claimed by
// compare-and-swap and never given back, and a name that is not the one it was claimed for is no name.
struct EntryName {
  std::atomic<std::uint64_t> hash;  // of the name; 0: vacant
  std::atomic<std::uint32_t> named;
  char name[256];

  static constexpr std::size_t longest = sizeof(name) - 1;

  // Makes it the entry of `wanted`, whose hash that is; false when it is another's.
  bool claim(std::string_view wanted, std::uint64_t hash_of_wanted);
  // Empty: nobody's.
  std::string owner() const;
};

std::uint64_t hash_of_name(std::string_view name);

// The entry of a name that is not empty nor too long, claimed if it has none yet; entries.size() where there is no
// room.
template <typename Entries>
std::size_t claim_entry(Entries& entries, std::string_view name) {
  const std::uint64_t hash = hash_of_name(name);
  for (std::size_t step = 0; step < entries.size(); ++step) {
    const std::size_t index = (hash + step) % entries.size();
    if (entries[index].claim(name, hash)) return index;
  }
  return entries.size();
}

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
