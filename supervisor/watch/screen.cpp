#include "supervisor/watch/screen.hpp"

#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include <curses.h>
#include <fmt/format.h>
#include <langinfo.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <clocale>
#include <cstdlib>
#include <cwchar>
#include <string_view>

#include "shared/base/log_line.hpp"
#include "supervisor/cli/arguments/command_line.hpp"

// <term.h> declares these too, with a macro for each capability under names as common as `tab` and `lines`.
extern "C" {
int setupterm(const char* term, int descriptor, int* error);
char* tigetstr(const char* capability);
struct term* set_curterm(struct term* terminal);
int del_curterm(struct term* terminal);
}

namespace brood::watch {
namespace {

constexpr int escape_delay_ms = 50;  // after this an Esc is a key by itself, not the start of a sequence

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

Glyphs glyphs_of_environment() {
  std::setlocale(LC_CTYPE, "");
  Glyphs glyphs;
  glyphs.utf8 = std::string_view(nl_langinfo(CODESET)) == "UTF-8";
  // The fonts of the Linux console and of old terminals lack most such characters.
  const std::string terminal = variable("TERM");
  glyphs.blocks = glyphs.utf8 && !terminal.starts_with("linux") && !terminal.starts_with("vt");
  return glyphs;
}

SCREEN* open_terminal() {
  const std::string name = variable("TERM");
  if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) throw UsageError("--watch needs a terminal");
  int trouble = 1;
  if (name.empty() || setupterm(nullptr, STDOUT_FILENO, &trouble) != OK)
    throw UsageError(fmt::format("unknown terminal \"{}\" for --watch; is TERM right?", log::printable(name)));
  const char* const place_cursor = tigetstr("cup");
  if (place_cursor == nullptr || place_cursor == reinterpret_cast<char*>(-1))
    throw UsageError(
        fmt::format("--watch needs a terminal that can place its cursor, and \"{}\" cannot", log::printable(name)));
  del_curterm(set_curterm(nullptr));  // newterm() sets up its own
  SCREEN* const screen = newterm(nullptr, stdout, stdin);
  if (!screen) throw UsageError(fmt::format("--watch cannot use the terminal \"{}\"", log::printable(name)));
  return screen;
}

Key key_of(int code) {
  switch (code) {
    case KEY_ENTER:
      return Key::enter;
    case KEY_BTAB:
      return Key::back_tab;
    case KEY_BACKSPACE:
      return Key::backspace;
    case KEY_UP:
      return Key::up;
    case KEY_DOWN:
      return Key::down;
    case KEY_LEFT:
      return Key::left;
    case KEY_RIGHT:
      return Key::right;
    case KEY_PPAGE:
      return Key::page_up;
    case KEY_NPAGE:
      return Key::page_down;
    case KEY_HOME:
      return Key::home;
    case KEY_END:
      return Key::end;
    default:
      return Key::none;
  }
}

std::string utf8_of(wint_t character) {
  std::array<char, MB_LEN_MAX> bytes{};
  std::mbstate_t state{};
  const std::size_t size = std::wcrtomb(bytes.data(), static_cast<wchar_t>(character), &state);
  return size == static_cast<std::size_t>(-1) ? std::string() : std::string(bytes.data(), size);
}

}  // namespace

struct Screen::State {
  SCREEN* screen = nullptr;
  Glyphs glyphs;
  bool colour = false;
  termios before{};

  chtype attributes(Look look) const {
    switch (look) {
      case Look::plain:
        return A_NORMAL;
      // Some terminals show dim text black on black, or not at all.
      case Look::dim:
        return colour ? A_DIM : A_NORMAL;
      case Look::bold:
        return A_BOLD;
      case Look::title:
        return colour ? COLOR_PAIR(COLOR_CYAN) | A_REVERSE : A_REVERSE;
      case Look::selected:
        return A_REVERSE | A_BOLD;
      case Look::good:
        return colour ? COLOR_PAIR(COLOR_GREEN) : A_NORMAL;
      case Look::warning:
        return colour ? COLOR_PAIR(COLOR_YELLOW) | A_BOLD : A_BOLD;
      case Look::bad:
        return colour ? COLOR_PAIR(COLOR_RED) | A_BOLD : A_BOLD;
    }
    return A_NORMAL;
  }
};

Screen::Screen() : state_(std::make_unique<State>()) {
  state_->glyphs = glyphs_of_environment();
  tcgetattr(STDIN_FILENO, &state_->before);
  state_->screen = open_terminal();
  set_escdelay(escape_delay_ms);
  cbreak();
  noecho();
  nonl();
  intrflush(stdscr, FALSE);
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  curs_set(0);
  // Ctrl-S would block the drawing, and with it the whole program.
  termios now{};
  if (tcgetattr(STDIN_FILENO, &now) == 0) {
    now.c_iflag &= ~static_cast<tcflag_t>(IXON);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &now);
    def_prog_mode();
  }
  if (variable("NO_COLOR").empty() && has_colors() && start_color() == OK) {
    const short background = use_default_colors() == OK ? -1 : COLOR_BLACK;
    for (const short colour : {COLOR_RED, COLOR_GREEN, COLOR_YELLOW, COLOR_CYAN}) init_pair(colour, colour, background);
    state_->colour = true;
  }
  resize();  // LINES and COLUMNS in the environment may be another terminal's
}

Screen::~Screen() {
  leave();
  delscreen(state_->screen);
}

void Screen::leave() {
  if (isendwin()) return;
  curs_set(1);
  endwin();
  tcsetattr(STDIN_FILENO, TCSADRAIN, &state_->before);
}

const Glyphs& Screen::glyphs() const { return state_->glyphs; }

Size Screen::size() const {
  return {static_cast<std::size_t>(std::max(0, getmaxy(stdscr))),
          static_cast<std::size_t>(std::max(0, getmaxx(stdscr)))};
}

void Screen::resize() {
  winsize now{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &now) == 0 && now.ws_row > 0 && now.ws_col > 0)
    resizeterm(now.ws_row, now.ws_col);
  redraw();
}

void Screen::redraw() { clearok(curscr, TRUE); }

void Screen::show(const Frame& frame) {
  // If the terminal is not read, a write would block, and no signal would be handled.  So this frame is dropped; the
  // next one shows the same.
  pollfd terminal{STDOUT_FILENO, POLLOUT, 0};
  if (poll(&terminal, 1, 0) == 0) return;
  werase(stdscr);
  for (std::size_t row = 0; row < frame.lines.size(); ++row) {
    wmove(stdscr, static_cast<int>(row), 0);
    for (const Span& span : frame.lines[row]) {
      wattrset(stdscr, static_cast<int>(state_->attributes(span.look)));
      // In the screen's last cell waddnstr returns an error, as the cursor cannot advance, but it has written the text.
      waddnstr(stdscr, span.text.data(), static_cast<int>(span.text.size()));
    }
  }
  wattrset(stdscr, static_cast<int>(A_NORMAL));
  curs_set(frame.cursor ? 1 : 0);
  if (frame.cursor) wmove(stdscr, static_cast<int>(frame.lines.size()) - 1, static_cast<int>(*frame.cursor));
  wrefresh(stdscr);
}

KeyPress Screen::read_key() {
  wint_t character = 0;
  const int kind = wget_wch(stdscr, &character);
  if (kind == ERR) return {};
  if (kind == KEY_CODE_YES) {
    const Key key = key_of(static_cast<int>(character));
    return {key == Key::none ? Key::character : key, ""};
  }
  switch (character) {
    case '\r':
    case '\n':
      return {Key::enter, ""};
    case '\t':
      return {Key::tab, ""};
    case 27:
      return {Key::escape, ""};
    case 8:
    case 127:
      return {Key::backspace, ""};
    default:
      return {Key::character, utf8_of(character)};
  }
}

}  // namespace brood::watch
