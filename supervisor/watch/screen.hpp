#pragma once

#include <memory>
#include <optional>
#include <string>

#include "supervisor/watch/action.hpp"
#include "supervisor/watch/line.hpp"
#include "supervisor/watch/text.hpp"

namespace brood::watch {

// The terminal of this process, taken over while this object lives.  Only screen.cpp knows curses.
class Screen {
 public:
  // Throws UsageError if standard input and output are no terminal, or one that curses cannot use.
  Screen();
  ~Screen();  // restores the terminal
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  const Glyphs& glyphs() const;
  Size size() const;

  void show(const Frame& frame);
  void redraw();  // another program wrote to the terminal: the next show() draws everything
  void resize();  // takes the terminal's present size

  // The next key; Key::none if there is none.  Waits only for the rest of an escape sequence.
  KeyPress read_key();

  void leave();  // gives the terminal back for a while, until the next show()

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace brood::watch
