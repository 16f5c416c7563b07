#pragma once

#include <string_view>

namespace brood::watch {

// What a terminal can show.
struct Glyphs {
  bool utf8 = true;    // else text beyond ASCII becomes question marks
  bool blocks = true;  // else bars and lines are drawn with ASCII

  std::string_view ellipsis() const { return blocks ? "…" : "~"; }
};

}  // namespace brood::watch
