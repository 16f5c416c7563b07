#pragma once

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace brood {

// What stands in a file; nothing for one that is not there.
inline std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::vector<std::string> lines_of_file(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

}  // namespace brood
