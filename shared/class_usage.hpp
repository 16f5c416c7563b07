#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

class Scoreboard;

inline constexpr int max_usage_classes = 256;

// What the jobs of one class have used since the supervisor began, in shared memory.
struct UsageEntry {
  std::atomic<std::uint64_t> hash;  // of the name; 0: vacant
  std::atomic<std::uint32_t> named;
  char name[116];  // cut to fit
  std::atomic<std::uint64_t> runs, failed, crashed;
  std::atomic<std::uint64_t> cpu_us, wall_us, peak_rss_kb;
};

// Every worker adds to it, so every byte may have been scribbled over: entries are claimed by compare-and-swap, never
// given back, and whatever does not fit any more is counted together.
struct alignas(64) UsageTable {
  std::array<UsageEntry, max_usage_classes> entries;
  UsageEntry others;
};

// What one run of a job has used.
struct JobUsage {
  std::chrono::microseconds cpu{}, wall{};
  std::uint64_t peak_rss_kb = 0;
};

// `runs` runs that came to their ends, `failed` of them badly, and what they used together; the peak is of any of them.
void add_runs(UsageTable& table, std::string_view job_class, const JobUsage& usage, int runs, int failed);

// A run that its worker did not survive.
void add_crash(UsageTable& table, std::string_view job_class, const JobUsage& usage);

struct ClassUsage {
  std::string job_class;  // empty: all that found no room in the table
  std::uint64_t runs = 0, failed = 0, crashed = 0;
  std::uint64_t cpu_us = 0, wall_us = 0, peak_rss_kb = 0;
};

// By name; at most max_usage_classes and the rest.  Leaves out entries whose name is not what they were claimed for.
std::vector<ClassUsage> read_class_usage(const Scoreboard& board);

}  // namespace brood
