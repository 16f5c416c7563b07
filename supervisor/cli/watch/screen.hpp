#pragma once

#include <memory>
#include <optional>
#include <string>

#include "supervisor/cli/watch/glyphs.hpp"
#include "supervisor/cli/watch/keys.hpp"
#include "supervisor/cli/watch/line.hpp"

namespace brood::watch {

// The terminal of this process, taken over until the end of this object's life.  The only file that knows curses.
class Screen {
 public:
  // Throws UsageError when standard input and output are no terminal, or one that curses cannot use.
  Screen();
  ~Screen();  // leaves it as it was
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  const Glyphs& glyphs() const;
  Size size() const;

  void show(const Frame& frame);
  void redraw();  // all of it with the next show(): somebody else wrote to the terminal
  void resize();  // to what the terminal is now

  // The next key that has come; Key::none when there is none.  Waits for nothing but the rest of an escape sequence.
  KeyPress read_key();

  void leave();  // gives the terminal back for a while, until the next show()

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace brood::watch
