#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace brood {

// The readable part of a file; empty if it does not exist.  Reading a /proc file of a process that ends at this moment
// fails; a stream iterator would throw.
inline std::string text_of_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

inline std::vector<std::string> lines_of_file(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

}  // namespace brood
