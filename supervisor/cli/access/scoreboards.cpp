#include "supervisor/cli/access/scoreboards.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace brood {

std::vector<std::string> scoreboard_paths(const std::string& directory) {
  std::vector<std::string> paths;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(directory, missing)) {
    if (entry.path().extension() == ".scoreboard") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace brood
