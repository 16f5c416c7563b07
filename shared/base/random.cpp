#include "shared/base/random.hpp"

#include <sys/random.h>

#include <cmath>
#include <cstdlib>

namespace brood {

void seed_anew() {
  unsigned seeds[2] = {};
  if (getrandom(seeds, sizeof seeds, 0) != static_cast<ssize_t>(sizeof seeds)) return;
  srandom(seeds[0]);
  srand48(static_cast<long>(seeds[1]));
}

namespace {

double log_choose(double n, double k) { return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1); }

}  // namespace

double hypergeometric(double found, double drawn, double marked, double all) {
  if (found < 0 || found > drawn || found > marked || drawn - found > all - marked) return 0;
  return std::exp(log_choose(marked, found) + log_choose(all - marked, drawn - found) - log_choose(all, drawn));
}

}  // namespace brood
