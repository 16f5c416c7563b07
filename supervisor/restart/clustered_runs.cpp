#include "supervisor/restart/clustered_runs.hpp"

#include <algorithm>
#include <cmath>

#include "shared/base/random.hpp"

namespace brood {

void ClusteredRuns::add(std::uint64_t runs, std::uint64_t bad) {
  if (runs == 0) return;
  const auto n = static_cast<double>(runs), x = static_cast<double>(std::min(bad, runs));
  runs_ += n;
  bad_ += x;
  bad_intervals_ += x > 0 ? 1 : 0;
  intervals_ += 1;
  runs_squared_ += n * n;
  bad_squared_ += x * x;
  runs_by_bad_ += n * x;
}

ClusteredRuns& ClusteredRuns::operator+=(const ClusteredRuns& other) {
  for (const auto member :
       {&ClusteredRuns::runs_, &ClusteredRuns::bad_, &ClusteredRuns::bad_intervals_, &ClusteredRuns::intervals_,
        &ClusteredRuns::runs_squared_, &ClusteredRuns::bad_squared_, &ClusteredRuns::runs_by_bad_})
    this->*member += other.*member;
  return *this;
}

// J. N. K. Rao and A. J. Scott, "A simple method for the analysis of clustered binary data", Biometrics 48 (1992): of m
// clusters with x of n each, and p = sum x / sum n, the variance of p is v = m / (m - 1) / (sum n)^2 * sum (x - n p)^2,
// and the design effect is v over p (1 - p) / sum n, that of independent runs.
double ClusteredRuns::design_effect() const {
  if (intervals_ < 2 || bad_ <= 0 || bad_ >= runs_) return 1;
  const double p = bad_ / runs_;
  const double residuals = std::max(0.0, bad_squared_ - 2 * p * runs_by_bad_ + p * p * runs_squared_);
  return std::max(1.0, intervals_ / (intervals_ - 1) * residuals / (runs_ * p * (1 - p)));
}

// R. A. Fisher, "Statistical Methods for Research Workers", 5th edition (1934), section 21.02.  If both groups are
// alike, and the total number of runs that went wrong is given, then the number of those among the `after_runs` has a
// hypergeometric distribution.
double fisher_tail(double before_bad, double before_runs, double after_bad, double after_runs) {
  if (after_bad <= 0 || before_runs <= 0) return 1;
  const double bad = before_bad + after_bad, most = std::min(bad, after_runs);
  double sum = 0;
  for (double k = after_bad; k <= most; ++k) {
    const double term = hypergeometric(k, bad, after_runs, before_runs + after_runs);
    sum += term;
    if (term < sum * 1e-12 && k > after_runs * bad / (before_runs + after_runs)) break;  // the terms only get smaller
  }
  return std::min(sum, 1.0);
}

double chance_of(const ClusteredRuns& before, const ClusteredRuns& after) {
  if (before.runs() <= 0 || after.bad() * before.runs() <= before.bad() * after.runs()) return 1;
  const double old_effect = before.design_effect(), new_effect = after.design_effect();
  // Whole numbers, rounded so that an alarm becomes less likely.
  const double before_runs = std::max(1.0, std::floor(before.runs() / old_effect)),
               before_bad = std::min(before_runs, std::ceil(before.bad() / old_effect));
  const double after_runs = std::max(1.0, std::ceil(after.runs() / new_effect)),
               after_bad = std::floor(after.bad() / new_effect);
  return fisher_tail(before_bad, before_runs, after_bad, after_runs);
}

}  // namespace brood
