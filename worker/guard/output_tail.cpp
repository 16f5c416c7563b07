#include "worker/guard/output_tail.hpp"

#include <algorithm>

#include "shared/json/json.hpp"

namespace brood {

void OutputTail::add(std::string_view text) {
  text_ += text;
  if (text_.size() <= 2 * most_bytes) return;  // so the text is moved only now and then
  text_.erase(0, text_.size() - most_bytes);
  cut_ = true;
}

std::vector<std::string> OutputTail::lines() const {
  std::string_view rest = text_;
  bool cut = cut_;
  if (rest.size() > most_bytes) {
    rest.remove_prefix(rest.size() - most_bytes);
    cut = true;
  }
  // The rest of a line that was cut is left out, unless it is the only line.
  if (const std::size_t end = rest.find('\n'); cut && end < rest.size() - 1) rest.remove_prefix(end + 1);

  std::vector<std::string> lines;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t\r") != line.npos) lines.push_back(utf8_prefix(line, longest_line));
  }
  if (lines.size() > most_lines) lines.erase(lines.begin(), lines.end() - most_lines);
  return lines;
}

}  // namespace brood
