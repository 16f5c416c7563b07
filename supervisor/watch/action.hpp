#pragma once

#include <string>

#include "supervisor/watch/view.hpp"

namespace brood::watch {

// A key as the terminal names it; `character` carries UTF-8.
enum class Key {
  none,
  character,
  enter,
  escape,
  tab,
  back_tab,
  backspace,
  up,
  down,
  left,
  right,
  page_up,
  page_down,
  home,
  end,
};

struct KeyPress {
  Key key = Key::none;
  std::string text;
};

struct Action {
  enum class Kind {
    none,
    quit,
    close,  // the help, the detail or the filter, in this order
    open,
    help,
    pause,
    show_pane,   // its number is `number`
    turn_panes,  // by `number`
    move,        // by `number` lines
    move_pages,  // by `number` pages
    first,
    last,
    edit_filter,
    type,   // types `text`
    erase,  // the last character
    erase_all,
    accept,  // what has been typed
    sort,    // by the column `number` further on, 1 or -1
    reverse,
    kill_job,
    dump,
    yes,
    no,
    redraw,
  };
  Kind kind = Kind::none;
  int number = 0;
  std::string text = {};
};

// The meaning of a key in the present pane.
Action action_for(const View& view, const KeyPress& press);

}  // namespace brood::watch
