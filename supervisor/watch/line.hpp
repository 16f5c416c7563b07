#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/watch/text.hpp"

namespace brood::watch {

// How a piece of text stands out.  No meaning may depend on it alone: a terminal may lack both colour and bold.
enum class Look { plain, dim, bold, title, selected, good, warning, bad };

struct Span {
  std::string text;  // clean: see text.hpp
  Look look = Look::plain;
};

using Line = std::vector<Span>;

// The whole screen, from the top.
struct Frame {
  std::vector<Line> lines;
  std::optional<std::size_t> cursor;  // its column in the last line; nullopt: hidden
};

struct Size {
  std::size_t rows = 0, columns = 0;
};

std::size_t width_of(const Line& line);

// The line in exactly `columns`: cut, or filled with spaces in the look of the last span.
Line padded(Line line, std::size_t columns, const Glyphs& glyphs);

// `left` at the left and `right` at the right of exactly `columns`.  If there is no room, `left` is cut, and then
// `right` is left out.
Line justified(Line left, Line right, std::size_t columns, const Glyphs& glyphs);

}  // namespace brood::watch
