#pragma once

#include <string_view>

namespace brood {

// No setting is deeper, and no value that a job may get needs to be.
inline constexpr int most_parts_of_a_key = 16;

// The line of the first key with more parts than that, from 1; 0: there is none.  The parser makes a table of each part
// and goes down into them by calling itself, so a key of some ten thousand parts would overflow its stack.
int line_of_too_deep_key(std::string_view toml);

}  // namespace brood
