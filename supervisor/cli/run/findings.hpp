#pragma once

#include <string>
#include <vector>

namespace brood {

// The findings of a part of `brood run --check`, a sentence each.
struct Findings {
  std::vector<std::string> refusals;  // it cannot work, such as a periodic job of an unknown class
  std::vector<std::string> warnings;  // it may work elsewhere or later, such as a queue that no capsule here fetches
};

}  // namespace brood
