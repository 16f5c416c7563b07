#include "supervisor/report/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace brood {

namespace {

// More than any worker can begin: each batch of a few dozen jobs costs a round trip to Redis.
constexpr double most_jobs_per_second = 1e6;
// A slot may have worked for a whole beat before it is first seen.
constexpr double always_plausible_jobs = 1e6;

bool plausible(std::uint64_t gain, SteadyTime since, SteadyTime now) {
  const double seconds = std::max(0.0, std::chrono::duration<double>(now - since).count());
  return static_cast<double>(gain) <= always_plausible_jobs + seconds * most_jobs_per_second;
}

}  // namespace

void Statistics::start_from(int slot, Counts counters, SteadyTime now) { bases_[slot] = {counters, now}; }

void Statistics::observe(int slot, Counts counters, SteadyTime now) {
  const auto [at, first] = bases_.try_emplace(slot, Base{{}, now});
  const Base base = at->second;
  at->second = {counters, now};

  const bool backwards = counters.processed < base.counters.processed || counters.failed < base.counters.failed;
  if (backwards) return;
  const Counts gained{counters.processed - base.counters.processed, counters.failed - base.counters.failed};
  if (!plausible(gained.processed, base.at, now) || !plausible(gained.failed, base.at, now)) return;
  unflushed_.processed += gained.processed;
  unflushed_.failed += gained.failed;
}

void Statistics::flushed(Counts counts) {
  unflushed_.processed -= std::min(counts.processed, unflushed_.processed);
  unflushed_.failed -= std::min(counts.failed, unflushed_.failed);
}

void Statistics::add_unflushed(Counts counts) {
  unflushed_.processed += counts.processed;
  unflushed_.failed += counts.failed;
}

std::map<int, Statistics::Counts> Statistics::observed() const {
  std::map<int, Counts> counters;
  for (const auto& [slot, base] : bases_) counters[slot] = base.counters;
  return counters;
}

std::string statistics_day(WallTime now) {
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(now));
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                     static_cast<unsigned>(day.day()));
}

}  // namespace brood
