#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "shared/base/clock.hpp"

namespace brood {

// Finds job classes that run before crashes of other classes, in the same worker process, more often than by chance.
//
// A class may simply run often, or together with the class that crashes, or at the hour when that class gets the
// arguments that crash it.  So the crashes of a class are compared only with its other runs in the same ten minutes, in
// workers of the same capsule and generation that had run as many other classes before.  "By chance" means as if
// crashes were distributed among such runs at random.
class PrecedingClasses {
 public:
  // Classes by their numbers in the table of usage.
  struct Run {
    int job_class = 0;
    std::vector<int> before;  // other classes that have run in this process, each once
    int capsule = 0;
    std::uint64_t generation = 0;
    int slot = 0;                          // of its worker
    std::uint64_t number = 0, oldest = 0;  // run numbers within the slot: this run, and the first one in `before`
  };
  // Notes a run that is looked at, crashed or not.  Ignores a run that shares a preceding run with one that was taken:
  // the two together would show no more than one.
  void note_run(const Run& run, SteadyTime now);
  // Notes a run that its worker did not survive.
  void note_crash(const Run& run, SteadyTime now);

  struct Suspicion {
    int suspect = 0;
    int crashes = 0, crashes_after = 0;  // crashes that were looked at, and those with the suspect before them
    double usual = 0;                    // the share of the compared runs with the suspect before them
    double certainty = 0;                // the probability that this is not chance: at least 0.99
  };
  // The crashed class and the class that most certainly precedes its crashes; nullopt if none does.
  struct Verdict {
    int job_class = 0;
    std::optional<Suspicion> suspicion;
  };
  // One verdict for each class that has crashed since the last call.
  std::vector<Verdict> judge();

 private:
  struct Stratum {
    int runs = 0, crashes = 0;  // crashes are among the runs
    std::map<int, int> runs_after, crashes_after;
  };
  // Time window, class, capsule, generation, and number of other classes before.
  using Key = std::tuple<std::int64_t, int, int, std::uint64_t, std::size_t>;
  struct Victim {
    int ordinal = 0;  // 1 for the first class that crashed, 2 for the second, ...
    int looks = 0;    // how often this class was judged
    bool crashed_again = false;
  };

  Stratum& stratum_of(const Run& run, SteadyTime now);
  void forget_old(std::int64_t window);
  Verdict judge(int job_class, const Victim& victim) const;

  std::map<Key, Stratum> strata_;
  std::map<int, Victim> victims_;
  std::map<int, std::uint64_t> taken_;  // the number of the last run taken, by slot
  std::int64_t window_ = 0;
};

}  // namespace brood
