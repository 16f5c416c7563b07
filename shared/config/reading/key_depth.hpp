#pragma once

#include <string_view>

namespace brood {

// No key of brood has more parts, and no value that a job may get needs more.
inline constexpr int most_parts_of_a_key = 16;

// The line of the first key with more parts, counted from 1; 0: there is none.  The parser calls itself for each part
// of a key, so a key of some ten thousand parts would overflow its stack.
int line_of_too_deep_key(std::string_view toml);

}  // namespace brood
