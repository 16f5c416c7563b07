#pragma once

#include <string>
#include <vector>

#include "supervisor/watch/action.hpp"
#include "supervisor/watch/listing.hpp"
#include "supervisor/watch/model.hpp"
#include "supervisor/watch/view.hpp"

namespace brood::watch {

// The sizes of a view's content while the user moves in it.
struct ViewContext {
  const Model& model;
  const Listing& listing;  // of the view's pane, arranged
  std::size_t page = 1;    // rows or lines on the screen at once
  std::size_t lines = 0;   // of the detail or the help, after long lines were broken
  WallTime now{};
};

// The part of an action that the view cannot do itself.
struct Effect {
  bool quit = false, redraw = false;
  std::vector<std::string> command = {};  // a command of brood to run
};

Effect apply(View& view, const Action& action, const ViewContext& context);

// Updates the detail, while its row exists.
void refresh_detail(View& view, const Model& model, WallTime now);

}  // namespace brood::watch
