#include "shared/base/hypergeometric.hpp"

#include <cmath>

namespace brood {
namespace {

double log_choose(double n, double k) { return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1); }

}  // namespace

double hypergeometric(double found, double drawn, double marked, double all) {
  if (found < 0 || found > drawn || found > marked || drawn - found > all - marked) return 0;
  return std::exp(log_choose(marked, found) + log_choose(all - marked, drawn - found) - log_choose(all, drawn));
}

}  // namespace brood
