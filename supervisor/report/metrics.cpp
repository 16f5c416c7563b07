#include "supervisor/report/metrics.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace brood {
namespace {

// More than any worker can run: each batch of a few dozen jobs costs a round trip to Redis.
constexpr double most_runs_per_second = 1e6;
// Workers may have run for a whole beat before the class is first seen.
constexpr std::uint64_t always_plausible_runs = 1'000'000;
constexpr std::uint64_t most_memory_kb = 1ULL << 40;

bool ran_backwards(const ClassTotals& before, const ClassTotals& now) {
  bool backwards = false;
  ClassTotals::pairwise(before, now, [&](std::uint64_t was, std::uint64_t is) { backwards |= is < was; });
  return backwards;
}

ClassTotals gain(const ClassTotals& before, ClassTotals now) {
  ClassTotals::pairwise(now, before, [](std::uint64_t& is, std::uint64_t was) { is -= was; });
  return now;
}

// No run took longer than the machine has been up.
bool plausible(const ClassTotals& gained, SteadyTime since, SteadyTime now) {
  const double seconds = std::max(0.0, std::chrono::duration<double>(now - since).count());
  const std::uint64_t most_runs = always_plausible_runs + static_cast<std::uint64_t>(seconds * most_runs_per_second);
  const double up_us = std::chrono::duration<double, std::micro>(now.time_since_epoch()).count();
  const double most_us = up_us * static_cast<double>(std::min(gained.runs, most_runs) + 1'000);
  bool fits = gained.runs <= most_runs && gained.failed <= most_runs && gained.crashed <= most_runs;
  for (const std::uint64_t runs : gained.histogram) fits &= runs <= most_runs;
  // A run may have kept several processors busy.
  return fits && static_cast<double>(gained.ms) * 1'000 <= most_us && static_cast<double>(gained.wall_us) <= most_us &&
         static_cast<double>(gained.cpu_us) <= most_us * 1'000;
}

bool is_nothing(const ClassTotals& totals) {
  bool nothing = true;
  ClassTotals::pairwise(totals, totals, [&](std::uint64_t count, std::uint64_t) { nothing &= count == 0; });
  return nothing;
}

}  // namespace

void Metrics::resume(const std::vector<Known>& left, bool same_memory, SteadyTime now) {
  for (const Known& known : left) {
    if (classes_.size() >= max_usage_classes || !is_countable(known.job_class)) return;
    const auto at = classes_.try_emplace(known.job_class, Entry{known, now}).first;
    if (!same_memory) at->second.known.seen = {};
  }
}

void Metrics::observe(const std::vector<ClassUsage>& usage, SteadyTime now) {
  std::set<std::string_view> observed;
  for (const ClassUsage& seen : usage) {
    if (!is_countable(seen.job_class) || !observed.insert(seen.job_class).second) continue;
    auto at = classes_.find(seen.job_class);
    if (at == classes_.end()) {
      if (classes_.size() >= max_usage_classes) continue;
      at = classes_.emplace(seen.job_class, Entry{Known{seen.job_class, {}, {}, 0}, now}).first;
    }
    Known& known = at->second.known;
    const SteadyTime since = std::exchange(at->second.at, now);
    const ClassTotals before = std::exchange(known.seen, seen);
    if (ran_backwards(before, seen)) continue;
    const ClassTotals gained = gain(before, seen);
    if (!plausible(gained, since, now)) continue;
    ClassTotals::pairwise(known.unflushed, gained, [](std::uint64_t& unflushed, std::uint64_t more) {
      unflushed = std::min(unflushed + more, largest_count);
    });
    if (seen.peak_rss_kb <= most_memory_kb) known.peak_rss_kb = std::max(known.peak_rss_kb, seen.peak_rss_kb);
  }
}

std::vector<ClassUsage> Metrics::unflushed(std::size_t most) const {
  std::vector<ClassUsage> told;
  for (const auto& [name, entry] : classes_) {
    if (told.size() == most) break;
    if (!is_nothing(entry.known.unflushed)) told.push_back({entry.known.unflushed, name, entry.known.peak_rss_kb});
  }
  return told;
}

void Metrics::flushed(const std::vector<ClassUsage>& told) {
  for (const ClassUsage& usage : told) {
    const auto at = classes_.find(usage.job_class);
    if (at == classes_.end()) continue;
    Known& known = at->second.known;
    ClassTotals::pairwise(known.unflushed, usage, [](std::uint64_t& unflushed, std::uint64_t was_told) {
      unflushed -= std::min(unflushed, was_told);
    });
    if (known.peak_rss_kb <= usage.peak_rss_kb) known.peak_rss_kb = 0;
  }
}

void Metrics::forget_unflushed() {
  for (auto& [name, entry] : classes_) {
    entry.known.unflushed = {};
    entry.known.peak_rss_kb = 0;
  }
}

std::vector<Metrics::Known> Metrics::known() const {
  std::vector<Known> all;
  for (const auto& [name, entry] : classes_) all.push_back(entry.known);
  return all;
}

}  // namespace brood
