#include "supervisor/watch/line.hpp"

namespace brood::watch {

std::size_t width_of(const Line& line) {
  std::size_t columns = 0;
  for (const Span& span : line) columns += width(span.text);
  return columns;
}

Line padded(Line line, std::size_t columns, const Glyphs& glyphs) {
  std::size_t left = columns;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::size_t taken = width(line[i].text);
    if (taken > left) {
      line[i].text = cut(line[i].text, left, glyphs);
      left -= width(line[i].text);
      line.resize(i + 1);
      break;
    }
    left -= taken;
  }
  if (line.empty()) line.emplace_back();
  line.back().text.append(left, ' ');
  return line;
}

Line justified(Line left, Line right, std::size_t columns, const Glyphs& glyphs) {
  constexpr std::size_t least_left = 20, gap = 2;
  const std::size_t needed = width_of(right);
  if (needed == 0 || needed + gap + least_left > columns) return padded(std::move(left), columns, glyphs);
  Line line = padded(std::move(left), columns - needed - gap, glyphs);
  line.push_back({std::string(gap, ' ')});
  line.insert(line.end(), right.begin(), right.end());
  return line;
}

}  // namespace brood::watch
