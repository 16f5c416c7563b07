#pragma once

#include <vector>

namespace brood {

// The value that `share` of the values do not exceed; 0.5 is the median.  Throws std::runtime_error if there are none.
double quantile(std::vector<double> values, double share);

}  // namespace brood
