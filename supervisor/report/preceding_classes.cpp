#include "supervisor/report/preceding_classes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "shared/base/random.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto window_length = 10min;
constexpr std::int64_t windows_kept = 24h / window_length;
// Bounds that keep one look cheap: if a class crashes all the time, some of its crashes are enough.
constexpr int most_crashes_of_stratum = 32;
constexpr std::size_t most_strata_with_crashes = 256;

constexpr double certain_enough = 0.99;
constexpr int fewest_crashes = 3;

// The probability that `found` or more of the crashes have the suspect before them, if in each stratum crashes are
// drawn from all runs at random.  The strata's counts are independent, so the distribution of their sum is the
// convolution of their distributions.
class SumOfDraws {
 public:
  void add(int drawn, int marked, int all) {
    std::vector<double> sum(chances_.size() + static_cast<std::size_t>(std::min(drawn, marked)), 0.0);
    for (std::size_t found = 0; found <= sum.size() - chances_.size(); ++found) {
      const double chance = hypergeometric(static_cast<double>(found), drawn, marked, all);
      for (std::size_t i = 0; chance > 0 && i < chances_.size(); ++i) sum[i + found] += chances_[i] * chance;
    }
    chances_ = std::move(sum);
  }
  double at_least(int found) const {
    const auto from = chances_.begin() + std::min<std::ptrdiff_t>(found, static_cast<std::ptrdiff_t>(chances_.size()));
    return std::accumulate(from, chances_.end(), 0.0);
  }

 private:
  std::vector<double> chances_{1.0};
};

int count_at(const std::map<int, int>& counts, int job_class) {
  const auto found = counts.find(job_class);
  return found == counts.end() ? 0 : found->second;
}

}  // namespace

PrecedingClasses::Stratum& PrecedingClasses::stratum_of(const Run& run, SteadyTime now) {
  const std::int64_t window = now.time_since_epoch() / window_length;
  if (window != window_) forget_old(window);
  return strata_[Key(window, run.job_class, run.capsule, run.generation, run.before.size())];
}

// Drops strata whose window has passed without a crash: they will never have one.
void PrecedingClasses::forget_old(std::int64_t window) {
  window_ = window;
  std::erase_if(strata_, [&](const auto& known) {
    return known.second.crashes == 0 || std::get<0>(known.first) <= window - windows_kept;
  });
  while (strata_.size() > most_strata_with_crashes) strata_.erase(strata_.begin());
}

void PrecedingClasses::note_run(const Run& run, SteadyTime now) {
  if (run.before.empty()) return;
  std::uint64_t& taken = taken_[run.slot];
  if (run.oldest <= taken && taken <= run.number) return;
  taken = run.number;
  Stratum& stratum = stratum_of(run, now);
  ++stratum.runs;
  for (const int job_class : run.before) ++stratum.runs_after[job_class];
}

void PrecedingClasses::note_crash(const Run& run, SteadyTime now) {
  if (run.before.empty()) return;
  Stratum& stratum = stratum_of(run, now);
  if (stratum.crashes >= most_crashes_of_stratum) return;
  ++stratum.runs;
  ++stratum.crashes;
  for (const int job_class : run.before) {
    ++stratum.runs_after[job_class];
    ++stratum.crashes_after[job_class];
  }
  const auto victim = victims_.try_emplace(run.job_class, Victim{.ordinal = static_cast<int>(victims_.size()) + 1});
  victim.first->second.crashed_again = true;
}

std::vector<PrecedingClasses::Verdict> PrecedingClasses::judge() {
  std::vector<Verdict> verdicts;
  for (auto& [job_class, victim] : victims_) {
    if (!victim.crashed_again) continue;
    victim.crashed_again = false;
    ++victim.looks;
    verdicts.push_back(judge(job_class, victim));
  }
  return verdicts;
}

// Many looks at many classes find something by chance.  So each probability is multiplied by the number of classes that
// could be suspected, and by k (k + 1) for the k-th look and for the k-th crashed class.  As 1 / (k (k + 1)) sums up to
// 1 over all k, all looks at all classes together suspect an innocent class no more often than `certainty` allows.
PrecedingClasses::Verdict PrecedingClasses::judge(int job_class, const Victim& victim) const {
  std::vector<const Stratum*> strata;
  std::set<int> candidates;
  int crashes = 0;
  for (const auto& [key, stratum] : strata_) {
    if (std::get<1>(key) != job_class || stratum.crashes == 0) continue;
    strata.push_back(&stratum);
    crashes += stratum.crashes;
    for (const auto& [candidate, count] : stratum.runs_after) candidates.insert(candidate);
  }
  const auto ways = [](double k) { return k * (k + 1); };
  const double ways_in_all = static_cast<double>(candidates.size()) * ways(victim.looks) * ways(victim.ordinal);

  Verdict verdict{.job_class = job_class, .suspicion = std::nullopt};
  double smallest = 1 - certain_enough;
  for (const int candidate : candidates) {
    SumOfDraws by_chance;
    int after = 0, others = 0, others_after = 0;
    for (const Stratum* const stratum : strata) {
      const int runs_after = count_at(stratum->runs_after, candidate);
      const int crashes_after = count_at(stratum->crashes_after, candidate);
      by_chance.add(stratum->crashes, runs_after, stratum->runs);
      after += crashes_after;
      others += stratum->runs - stratum->crashes;
      others_after += runs_after - crashes_after;
    }
    if (after < fewest_crashes) continue;
    const double chance = by_chance.at_least(after) * ways_in_all;
    if (chance > smallest) continue;
    smallest = chance;
    verdict.suspicion = Suspicion{.suspect = candidate,
                                  .crashes = crashes,
                                  .crashes_after = after,
                                  .usual = others > 0 ? static_cast<double>(others_after) / others : 0,
                                  .certainty = 1 - chance};
  }
  return verdict;
}

}  // namespace brood
