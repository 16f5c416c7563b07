#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "shared/base/clock.hpp"

namespace brood {

// Which job classes run before others' crashes, in the same worker process, more often than chance would have it.
//
// A class may simply run often, or together with the one that crashes, or at the hour when that one gets what it
// crashes of.  So the crashes of a class are compared only with its other runs of the same ten minutes, in workers of
// the same capsule and generation that had as many classes behind them.  That a crash is the only thing that tells two
// such runs apart is what chance means here.
class PrecedingClasses {
 public:
  // Classes by their numbers in the table of usage.
  struct Run {
    int job_class = 0;
    std::vector<int> before;  // other classes that have run in this process, each once
    int capsule = 0;
    std::uint64_t generation = 0;
    int slot = 0;                          // of its worker
    std::uint64_t number = 0, oldest = 0;  // in that slot: its own, and the first of those before
  };
  // A run that is looked at without regard to what becomes of it.  Those that share a run before them with one that was
  // taken would be counted as many and say no more than one: they are left out.
  void note_run(const Run& run, SteadyTime now);
  // A run that its worker did not survive.
  void note_crash(const Run& run, SteadyTime now);

  struct Suspicion {
    int suspect = 0;
    int crashes = 0, crashes_after = 0;  // that were looked at, and those with the suspect before them
    double usual = 0;                    // the share of runs that have it before them, among those compared with
    double certainty = 0;                // that this is not chance: 0.99 or more
  };
  // The crashed class, and who most certainly precedes its crashes; nullopt: nobody does.
  struct Verdict {
    int job_class = 0;
    std::optional<Suspicion> suspicion;
  };
  // On each class that has crashed since it was last asked.
  std::vector<Verdict> judge();

 private:
  struct Stratum {
    int runs = 0, crashes = 0;  // crashes are among the runs
    std::map<int, int> runs_after, crashes_after;
  };
  // When, of which class, in which capsule and generation, after how many other classes.
  using Key = std::tuple<std::int64_t, int, int, std::uint64_t, std::size_t>;
  struct Victim {
    int ordinal = 0;  // as how many-th class it crashed
    int looks = 0;    // how often it was judged
    bool crashed_again = false;
  };

  Stratum& stratum_of(const Run& run, SteadyTime now);
  void forget_old(std::int64_t window);
  Verdict judge(int job_class, const Victim& victim) const;

  std::map<Key, Stratum> strata_;
  std::map<int, Victim> victims_;
  std::map<int, std::uint64_t> taken_;  // the last run of each slot that was
  std::int64_t window_ = 0;
};

}  // namespace brood
