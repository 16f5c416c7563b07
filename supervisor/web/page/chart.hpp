#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/web/page/html.hpp"

namespace brood {

// A small chart as SVG, drawn by the server.  Its title and description are for readers who do not see it.
struct Bars {
  std::string title;                    // "Jobs per minute, the last hour"
  std::string description;              // "1,204 in all, at most 40"
  std::vector<double> good, bad;        // stacked; as many of each
  std::vector<std::string> names = {};  // of each bar, for the pointer; may be empty
  bool is_small = false;
};
Html chart(const Bars& bars);

}  // namespace brood
