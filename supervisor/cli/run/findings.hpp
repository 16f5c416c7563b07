#pragma once

#include <string>
#include <vector>

namespace brood {

// What a part of `brood run --check` has found, a sentence each.
struct Findings {
  std::vector<std::string> refusals;  // what cannot work: a periodic job whose class is not there, say
  std::vector<std::string> warnings;  // what may work elsewhere or later: a queue that no capsule here fetches
};

}  // namespace brood
