#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/support/temporary_directory.hpp"

namespace brood {

// An invisible terminal with a shell in it: tmux on a socket of its own, which ends with the test, even if the test is
// killed.  Construct it on the main thread: the kernel kills it when the thread that started it ends.
class TmuxTerminal {
 public:
  TmuxTerminal(int columns, int rows, const std::map<std::string, std::string>& environment);
  ~TmuxTerminal();
  TmuxTerminal(const TmuxTerminal&) = delete;
  TmuxTerminal& operator=(const TmuxTerminal&) = delete;

  static bool is_installed();

  // Types text, or presses a key that has a name in tmux, such as "Enter", "Escape", "C-c".
  void type(const std::string& text);
  void press(const std::string& key);

  void resize(int columns, int rows);
  void close();  // the terminal disappears, as when a window is closed

  std::string text() const;               // what is shown, line by line
  std::string text_with_colours() const;  // the same with its escape sequences
  bool comes_to_show(const std::string& wanted) const;
  bool comes_to_hide(const std::string& unwanted) const;
  bool comes_to(const std::function<bool(const std::string& text)>& holds) const;

  pid_t shell() const;

 private:
  std::string tmux(std::vector<std::string> arguments) const;

  TemporaryDirectory directory_;
  pid_t server_ = -1;
};

}  // namespace brood
