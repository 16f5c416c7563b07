#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

// The one of `known` that `word` may be a slip for: the fewest letters inserted, left out, replaced or swapped. nullopt
// if none is near.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace brood
