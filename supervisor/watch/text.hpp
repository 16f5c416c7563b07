#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace brood::watch {

// The characters that a terminal can show.
struct Glyphs {
  bool utf8 = true;    // else characters beyond ASCII become question marks
  bool blocks = true;  // else bars and lines are drawn with ASCII

  std::string_view ellipsis() const { return blocks ? "…" : "~"; }
};

// Text as a terminal shows it.  Foreign text may contain wide and combining characters, and may try to control the
// terminal.  The widths are those of the C library's locale: LC_CTYPE must be set if `glyphs.utf8` is true.

// One line that is safe to show: control characters, changes of direction and invalid UTF-8 are escaped or replaced,
// and a character keeps at most two combining ones.
std::string clean(std::string_view text, const Glyphs& glyphs);

// How many columns clean text takes.
std::size_t width(std::string_view text);

// The first characters of clean text that take at most `columns`.
std::string_view prefix(std::string_view text, std::size_t columns);

// The text without its first `columns`; a wide character that is cut in two leaves a space.
std::string without_prefix(std::string_view text, std::size_t columns);

// Clean text in at most `columns`; text that was cut ends with an ellipsis.
std::string cut(std::string_view text, std::size_t columns, const Glyphs& glyphs);

enum class Align { left, right };

// The same in exactly `columns`.
std::string fit(std::string_view text, std::size_t columns, Align align, const Glyphs& glyphs);

}  // namespace brood::watch
