#include "supervisor/cli/bench/quantile.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

namespace brood {

double quantile(std::vector<double> values, double share) {
  if (values.empty()) throw std::runtime_error("nothing was measured");
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(share * static_cast<double>(values.size()));
  const auto place = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return values[std::min(place, values.size() - 1)];
}

}  // namespace brood
