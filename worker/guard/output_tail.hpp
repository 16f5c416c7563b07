#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

// The end of a program's output, of any length.
class OutputTail {
 public:
  static constexpr std::size_t most_bytes = 16 * 1024, most_lines = 50, longest_line = 1000;

  void add(std::string_view text);

  // Returns the last lines, oldest first, without blank ones, as UTF-8.  A line that is too long loses its end.
  std::vector<std::string> lines() const;

 private:
  std::string text_;
  bool cut_ = false;  // the text may begin in the middle of a line
};

}  // namespace brood
