#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/scoreboard/class_usage.hpp"
#include "supervisor/restart/clustered_runs.hpp"

namespace brood {

// Decides whether the new workers of a rolling restart crash or fail more than the workers that they replace, class by
// class.  Gets the number of runs of each class by both once a second, and remembers ten minutes of them.  Pure.
//
// A class crashes, or fails, more if three things hold: chance_of() the observation is below a bound; its odds are
// twice the old ones, both over the ten minutes and when the old workers last ran it; and it did not all happen within
// one burst.
//
// The bounds of all looks at all classes add up to `false_alarms`, so that a restart that changes nothing is rolled
// back at most that often.  A look counts only if something new went wrong at it; other looks cause no alarm.  The b-th
// look that counts, at the j-th pair of a class and a way to go wrong, has the bound false_alarms / (b (b + 1) j (j +
// 1)).
class Canary {
 public:
  static constexpr double false_alarms = 0.001;
  static constexpr std::chrono::seconds between_looks{1};
  static constexpr std::size_t minutes_remembered = 10;
  // If this many runs of a class do no worse than before, that is enough: a class that crashes in 1 % of its runs would
  // have shown it.
  static constexpr double enough_runs = 300;

  enum class Way { crashed, failed };
  using Totals = std::vector<RunTally>;  // by the class's number in the table of usage

  // The totals of the present generation, and, between begin() and end(), those of the coming one.
  void note(const Totals& present, const Totals& coming, SteadyTime now);

  // Begins a roll.  `coming` are the present values of the counters for the new workers' runs.
  void begin(const Totals& coming);
  // Ends the roll.  If `adopted`, the coming generation is the present one from now on.
  void end(bool adopted);

  struct Alarm {
    int job_class = 0;
    Way way = Way::crashed;
    double bad_before = 0, runs_before = 0, bad_after = 0, runs_after = 0;
    double certainty = 0;  // at most 1
  };
  // Set once a note() has made an alarm certain.
  const std::optional<Alarm>& alarm() const { return alarm_; }

  // Whether waiting is pointless: the new workers run nothing that the old ones ran, or have no more jobs, or have run
  // enough.  `running` are the classes of the jobs that the new workers run now; `coming` is as in note().
  bool may_end(const std::set<int>& running, const Totals& coming) const;

 private:
  struct Counts {
    ClusteredRuns crashed, failed;
    void add(const RunTally& was, const RunTally& is);
    const ClusteredRuns& of(Way way) const { return way == Way::crashed ? crashed : failed; }
  };
  struct OfClass {
    std::deque<Counts> minutes, seconds;  // the youngest first; only seconds with a run
    Counts after;
    Counts before() const;
    // The last seconds in which the old workers ran it: at least `least_seconds`, and more until they contain
    // `least_runs`.
    Counts lately(std::size_t least_seconds, double least_runs) const;
  };

  void judge(int job_class, Way way, double bad_intervals_before);
  double bound(int job_class, Way way, double looks);

  std::map<int, OfClass> classes_;
  Totals seen_present_, seen_coming_;
  std::map<std::pair<int, Way>, int> troubles_;  // numbered from 1, in order of appearance
  std::optional<Alarm> alarm_;
  std::optional<SteadyTime> minute_began_;
  bool seeded_ = false, under_way_ = false;
  int looks_without_a_run_ = 0;
};

}  // namespace brood
