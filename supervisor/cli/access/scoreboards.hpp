#pragma once

#include <string>
#include <vector>

namespace brood {

// The paths of all files of `directory` that may be scoreboards, sorted.  None when it cannot be read.
std::vector<std::string> scoreboard_paths(const std::string& directory);

}  // namespace brood
