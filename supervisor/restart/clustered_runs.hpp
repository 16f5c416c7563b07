#pragma once

#include <cstdint>

namespace brood {

// How many runs there were and how many of them went wrong, with how unevenly both came over time.
class ClusteredRuns {
 public:
  // What one interval, a second, brought.  One without runs is left out.
  void add(std::uint64_t runs, std::uint64_t bad);
  ClusteredRuns& operator+=(const ClusteredRuns& other);

  double runs() const { return runs_; }
  double bad() const { return bad_; }
  double bad_intervals() const { return bad_intervals_; }  // in which one or more went wrong

  // How many times more such counts vary than those of independent runs; 1 or more.  Jobs seldom fail alone: where a
  // service is away for a second, all of that second's jobs fail, and say no more than one of them.
  double design_effect() const;

 private:
  double runs_ = 0, bad_ = 0, bad_intervals_ = 0, intervals_ = 0;
  double runs_squared_ = 0, bad_squared_ = 0, runs_by_bad_ = 0;
};

// How likely it is that as many runs of `after` went wrong, or more, if all of both were alike.  Fisher's exact test,
// one-sided, on counts divided by their design effects.
double chance_of(const ClusteredRuns& before, const ClusteredRuns& after);

// Fisher's exact test alone: that `after_bad` or more of all that went wrong are among those after.
double fisher_tail(double before_bad, double before_runs, double after_bad, double after_runs);

}  // namespace brood
