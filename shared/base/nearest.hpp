#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

// The one of `known` that `word` is most likely a misspelling of: with the fewest letters inserted, left out, replaced
// or swapped; letters of the wrong case count as one.  nullopt if none is near.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace brood
