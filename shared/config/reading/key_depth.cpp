#include "shared/config/reading/key_depth.hpp"

#include <algorithm>
#include <cstddef>

namespace brood {
namespace {

// The end of the string that begins at `at`: behind its closing quotes, or the end of the line if it has none.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string_view three = text.substr(at, 3);
  const bool is_long = three.size() == 3 && three[1] == quote && three[2] == quote;
  std::size_t i = at + (is_long ? 3 : 1);
  for (; i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') {
      ++i;
    } else if (!is_long && text[i] == '\n') {
      return i;
    } else if (text[i] == quote && (!is_long || text.substr(i, 3) == three)) {
      return i + (is_long ? 3 : 1);
    }
  }
  return text.size();
}

}  // namespace

int line_of_too_deep_key(std::string_view toml) {
  int line = 1, dots = 0;
  for (std::size_t i = 0; i < toml.size();) {
    const char c = toml[i];
    if (c == '"' || c == '\'') {
      const std::size_t end = end_of_string(toml, i);
      line += static_cast<int>(std::count(toml.begin() + static_cast<std::ptrdiff_t>(i),
                                          toml.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
      i = end;
      continue;
    }
    if (c == '#') {
      i = std::min(toml.find('\n', i), toml.size());
      continue;
    }
    if (c == '.' && ++dots >= most_parts_of_a_key) return line;
    if (std::string_view("\n=,[]{}").find(c) != std::string_view::npos) dots = 0;
    if (c == '\n') ++line;
    ++i;
  }
  return 0;
}

}  // namespace brood
