#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

// Which of `known` somebody may have meant by `word`: the fewest letters inserted, left out, replaced or swapped.
// nullopt when none is near.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace brood
