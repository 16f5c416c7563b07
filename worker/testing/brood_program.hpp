#pragma once

#include <string>

namespace brood::testing {

// Returns the path of the brood that a test runs: `wanted`, else that in BROOD_PROGRAM, else that installed with this
// library, else the first in PATH.  Throws std::invalid_argument if there is none; its message is a sentence.
std::string find_brood(const std::string& wanted);

}  // namespace brood::testing
