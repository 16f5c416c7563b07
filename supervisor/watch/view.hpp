#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace brood::watch {

enum class Pane { workers, queues, classes, crashes, processes };
inline constexpr std::size_t panes = 5;

// The chosen row and order.  A row is identified by its key: the selection stays with it while other rows come, go and
// change places.
struct Choice {
  std::string row;                  // empty: the first
  std::size_t position = 0;         // where the row was last seen; once it is gone, the row there is chosen
  std::size_t top = 0;              // the first row shown
  std::optional<std::string> sort;  // a column's title; nullopt: the pane's own order
  bool descending = false;
  std::string filter;
};

// Several lines about one row or topic, in place of the table.
struct Detail {
  std::string title;
  std::vector<std::string> lines = {};  // raw; cleaned and broken only when shown
  std::optional<std::string> row = {};  // the row that it shows and follows; nullopt: it does not change
  std::size_t top = 0;
};

// The command that runs once the user confirms it, as words of brood's own command line.
struct Proposal {
  std::vector<std::string> questions;  // the same question, shorter each time
  std::vector<std::string> command;
};

// The user's present view.
struct View {
  Pane pane = Pane::workers;
  std::array<Choice, panes> choices;
  std::optional<Detail> detail;
  bool help = false;
  std::size_t help_top = 0;
  std::optional<std::string> filter_before;  // set while a filter is typed: Esc restores it
  std::optional<Proposal> proposal;
  bool paused = false;
  std::string notice;  // the result of the last action

  Choice& choice() { return choices[static_cast<std::size_t>(pane)]; }
  const Choice& choice() const { return choices[static_cast<std::size_t>(pane)]; }
};

}  // namespace brood::watch
