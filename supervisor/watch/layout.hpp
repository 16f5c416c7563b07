#pragma once

#include <cstddef>
#include <string>

#include "shared/base/clock.hpp"
#include "supervisor/watch/line.hpp"
#include "supervisor/watch/listing.hpp"
#include "supervisor/watch/model.hpp"
#include "supervisor/watch/view.hpp"

namespace brood::watch {

struct Scene {
  const Model& model;
  const Listing& listing;  // of the view's pane, arranged
  std::string address;     // of Redis, without its password
  WallTime now{};
  Glyphs glyphs;
};

// The whole screen: exactly `size.rows` lines, none wider than `size.columns`.  Scrolls the view so that the chosen row
// is visible.
Frame lay_out(View& view, const Scene& scene, Size size);

// body_rows(): the rows of the screen for the table, or for the help or detail in its place.  body_lines(): the lines
// of the help or detail.
std::size_t body_rows(Size size);
std::size_t body_lines(const View& view, const Glyphs& glyphs, Size size);

// The number of lines above the table: as many as the height allows.
std::size_t header_rows(Size size);
std::vector<Line> header(const Scene& scene, Size size);

}  // namespace brood::watch
