#pragma once

#include <cstdint>

namespace brood {

// How many runs there were, how many of them went wrong, and how unevenly both were spread over time.
class ClusteredRuns {
 public:
  // Adds the runs of one interval, a second.  An interval without runs is left out.
  void add(std::uint64_t runs, std::uint64_t bad);
  ClusteredRuns& operator+=(const ClusteredRuns& other);

  double runs() const { return runs_; }
  double bad() const { return bad_; }
  double bad_intervals() const { return bad_intervals_; }  // intervals in which at least one run went wrong

  // The variance of such counts as a multiple of that of independent runs; at least 1.  Jobs seldom fail alone: if a
  // service is away for a second, all jobs of that second fail, and they prove no more than one job would.
  double design_effect() const;

 private:
  double runs_ = 0, bad_ = 0, bad_intervals_ = 0, intervals_ = 0;
  double runs_squared_ = 0, bad_squared_ = 0, runs_by_bad_ = 0;
};

// The probability that as many runs of `after` go wrong, or more, if `before` and `after` are alike.  Fisher's exact
// test, one-sided, on counts divided by their design effects.
double chance_of(const ClusteredRuns& before, const ClusteredRuns& after);

// Fisher's exact test alone: the chance that at least `after_bad` of all the runs that went wrong are among the later
// ones.
double fisher_tail(double before_bad, double before_runs, double after_bad, double after_runs);

}  // namespace brood
