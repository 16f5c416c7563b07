#include "shared/class_usage.hpp"

#include <algorithm>

#include "shared/scoreboard.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_name = sizeof(UsageEntry::name) - 1;

// A count that somebody scribbled over must still be a number to whoever reads JSON.
constexpr std::uint64_t largest_count = (1ULL << 53) - 1;

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash != 0 ? hash : 1;
}

// Whoever claimed the entry may have died before it wrote the name, so that everybody who finds none writes it.  All of
// them write the same bytes.
void write_name(UsageEntry& entry, std::string_view name) {
  if (entry.named.load(std::memory_order_acquire) != 0) return;
  for (std::size_t i = 0; i < name.size(); ++i)
    std::atomic_ref(entry.name[i]).store(name[i], std::memory_order_relaxed);
  entry.named.store(1, std::memory_order_release);
}

UsageEntry& entry_of(UsageTable& table, std::string_view job_class) {
  const std::string_view name = job_class.substr(0, longest_name);
  const std::uint64_t hash = fnv1a(name);
  for (std::size_t step = 0; step < table.entries.size(); ++step) {
    UsageEntry& entry = table.entries[(hash + step) % table.entries.size()];
    std::uint64_t found = entry.hash.load();
    if (found == 0 && entry.hash.compare_exchange_strong(found, hash)) found = hash;
    if (found != hash) continue;
    write_name(entry, name);
    return entry;
  }
  return table.others;
}

void add(UsageEntry& entry, const JobUsage& usage, int runs) {
  const auto count = [](std::chrono::microseconds d) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(d.count(), 0));
  };
  entry.runs.fetch_add(static_cast<std::uint64_t>(std::max(runs, 0)), std::memory_order_relaxed);
  entry.cpu_us.fetch_add(count(usage.cpu), std::memory_order_relaxed);
  entry.wall_us.fetch_add(count(usage.wall), std::memory_order_relaxed);
  std::uint64_t peak = entry.peak_rss_kb.load();
  while (peak < usage.peak_rss_kb && !entry.peak_rss_kb.compare_exchange_weak(peak, usage.peak_rss_kb)) {
  }
}

std::string read_name(const UsageEntry& entry) {
  std::string name;
  for (std::size_t i = 0; i < longest_name; ++i) {
    // Loads alone: the memory may be mapped for reading only.
    const char c = std::atomic_ref(const_cast<char&>(entry.name[i])).load(std::memory_order_relaxed);
    if (c == '\0') break;
    name += c;
  }
  return name;
}

ClassUsage read(const UsageEntry& entry) {
  const auto bounded = [](const std::atomic<std::uint64_t>& count) { return std::min(count.load(), largest_count); };
  return {.job_class = {},
          .runs = bounded(entry.runs),
          .failed = bounded(entry.failed),
          .crashed = bounded(entry.crashed),
          .cpu_us = bounded(entry.cpu_us),
          .wall_us = bounded(entry.wall_us),
          .peak_rss_kb = bounded(entry.peak_rss_kb)};
}

}  // namespace

void add_runs(UsageTable& table, std::string_view job_class, const JobUsage& usage, int runs, int failed) {
  UsageEntry& entry = entry_of(table, job_class);
  add(entry, usage, runs);
  if (failed > 0) entry.failed.fetch_add(static_cast<std::uint64_t>(failed), std::memory_order_relaxed);
}

void add_crash(UsageTable& table, std::string_view job_class, const JobUsage& usage) {
  UsageEntry& entry = entry_of(table, job_class);
  add(entry, usage, 1);
  entry.crashed.fetch_add(1, std::memory_order_relaxed);
}

std::vector<ClassUsage> read_class_usage(const Scoreboard& board) {
  std::vector<ClassUsage> usage;
  for (const UsageEntry& entry : board.usage().entries) {
    const std::uint64_t hash = entry.hash.load();
    if (hash == 0 || entry.named.load(std::memory_order_acquire) == 0) continue;
    const std::string name = read_name(entry);
    if (name.empty() || fnv1a(name) != hash) continue;
    usage.push_back(read(entry));
    usage.back().job_class = name;
  }
  std::sort(usage.begin(), usage.end(),
            [](const ClassUsage& a, const ClassUsage& b) { return a.job_class < b.job_class; });
  const ClassUsage others = read(board.usage().others);
  if (others.runs > 0) usage.push_back(others);
  return usage;
}

}  // namespace brood
