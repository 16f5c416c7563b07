#include "supervisor/watch/action.hpp"

namespace brood::watch {
namespace {

using Kind = Action::Kind;

Action answer_for(const KeyPress& press) {
  if (press.text == "y" || press.text == "Y") return {.kind = Kind::yes};
  // A key without a name is no answer: curses sends one when the terminal is resized.
  const bool is_nothing = press.key == Key::none || (press.key == Key::character && press.text.empty());
  return {.kind = is_nothing ? Kind::none : Kind::no};
}

Action typing_for(const KeyPress& press) {
  constexpr const char* control_u = "\x15";
  switch (press.key) {
    case Key::enter:
      return {.kind = Kind::accept};
    case Key::escape:
      return {.kind = Kind::close};
    case Key::backspace:
      return {.kind = Kind::erase};
    case Key::character:
      if (press.text == control_u) return {.kind = Kind::erase_all};
      if (press.text.size() == 1 && static_cast<unsigned char>(press.text[0]) < ' ') return {};
      return {.kind = Kind::type, .text = press.text};
    default:
      return {};
  }
}

Action action_for(char c) {
  switch (c) {
    case 'q':
      return {.kind = Kind::quit};
    case '?':
    case 'h':
      return {.kind = Kind::help};
    case 'p':
      return {.kind = Kind::pause};
    case 'k':
      return {.kind = Kind::move, .number = -1};
    case 'j':
      return {.kind = Kind::move, .number = 1};
    case 'b':
    case '\x02':
      return {.kind = Kind::move_pages, .number = -1};  // Ctrl-B, as in vim
    case ' ':
    case '\x06':
      return {.kind = Kind::move_pages, .number = 1};  // Ctrl-F
    case 'g':
      return {.kind = Kind::first};
    case 'G':
      return {.kind = Kind::last};
    case 'l':
      return {.kind = Kind::open};
    case '/':
      return {.kind = Kind::edit_filter};
    case 's':
    case '>':
      return {.kind = Kind::sort, .number = 1};
    case '<':
      return {.kind = Kind::sort, .number = -1};
    case 'r':
      return {.kind = Kind::reverse};
    case 'K':
      return {.kind = Kind::kill_job};
    case 'd':
      return {.kind = Kind::dump};
    case '\x0c':
      return {.kind = Kind::redraw};  // Ctrl-L
    default:
      return c >= '1' && c <= '5' ? Action{.kind = Kind::show_pane, .number = c - '1'} : Action{};
  }
}

}  // namespace

Action action_for(const View& view, const KeyPress& press) {
  if (view.proposal) return answer_for(press);
  if (view.filter_before) return typing_for(press);
  switch (press.key) {
    case Key::none:
      return {};
    case Key::character:
      return press.text.size() == 1 ? action_for(press.text[0]) : Action{};
    case Key::enter:
      return {.kind = Kind::open};
    case Key::escape:
    case Key::backspace:
      return {.kind = Kind::close};
    case Key::tab:
    case Key::right:
      return {.kind = Kind::turn_panes, .number = 1};
    case Key::back_tab:
    case Key::left:
      return {.kind = Kind::turn_panes, .number = -1};
    case Key::up:
      return {.kind = Kind::move, .number = -1};
    case Key::down:
      return {.kind = Kind::move, .number = 1};
    case Key::page_up:
      return {.kind = Kind::move_pages, .number = -1};
    case Key::page_down:
      return {.kind = Kind::move_pages, .number = 1};
    case Key::home:
      return {.kind = Kind::first};
    case Key::end:
      return {.kind = Kind::last};
  }
  return {};
}

}  // namespace brood::watch
