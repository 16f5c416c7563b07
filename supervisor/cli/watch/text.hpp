#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/cli/watch/glyphs.hpp"

namespace brood::watch {

// Text as a terminal shows it: what others wrote may be wide, may combine, and may try to steer the terminal.  The
// widths are those of the C library's locale, whose LC_CTYPE must be set when `glyphs.utf8` is.

// One line that is safe to show: what steers, turns the direction or is no UTF-8 is escaped or replaced, and a
// character keeps at most two that combine with it.
std::string clean(std::string_view text, const Glyphs& glyphs);

// How many columns clean text takes.
std::size_t width(std::string_view text);

// The first characters of clean text that take at most `columns`.
std::string_view prefix(std::string_view text, std::size_t columns);

// Without the characters of the first `columns`; a wide one that is cut in two leaves a space.
std::string without_prefix(std::string_view text, std::size_t columns);

// Clean text in at most `columns`; what is cut ends with an ellipsis.
std::string cut(std::string_view text, std::size_t columns, const Glyphs& glyphs);

enum class Align { left, right };

// The same in exactly `columns`.
std::string fit(std::string_view text, std::size_t columns, Align align, const Glyphs& glyphs);

}  // namespace brood::watch
