#pragma once

#include <string>

namespace brood::testing {

// The brood that a test is to run: `wanted`, else what BROOD_PROGRAM names, else the one installed with this library,
// else the first in PATH.  Throws std::invalid_argument with a sentence.
std::string find_brood(const std::string& wanted);

}  // namespace brood::testing
