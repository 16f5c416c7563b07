#pragma once

#include <cstddef>

#include "supervisor/watch/line.hpp"
#include "supervisor/watch/text.hpp"

namespace brood::watch {

std::size_t width_of(const Line& line);

// The line in exactly `columns`: cut, or filled with spaces in the look of the last span.
Line padded(Line line, std::size_t columns, const Glyphs& glyphs);

// `left` at the left and `right` at the right of exactly `columns`; where there is no room, `left` is cut, and then
// `right` is left out.
Line justified(Line left, Line right, std::size_t columns, const Glyphs& glyphs);

}  // namespace brood::watch
