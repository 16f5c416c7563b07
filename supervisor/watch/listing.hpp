#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "supervisor/watch/line.hpp"
#include "supervisor/watch/text.hpp"
#include "supervisor/watch/view.hpp"

namespace brood::watch {

struct Column {
  std::string title;
  Align align = Align::left;
  int importance = 9;      // if there is no room, the least important column goes first
  std::size_t least = 0;   // columns; never narrower
  bool shrinks = false;    // down to `least`; else it is as wide as its widest cell
  bool by_number = false;  // sorted by Cell::order, else by text
};

struct Cell {
  std::string text = {};  // clean
  double order = 0;
  Look look = Look::plain;
};

struct Row {
  std::string key;
  std::vector<Cell> cells;  // one for each column
};

// The content of a pane, before it is fitted to a screen.
struct Listing {
  std::vector<Column> columns;
  std::vector<Row> rows;
  std::string when_empty;  // shown if there are no rows: why, in a sentence
};

// The rows that pass the filter, in the chosen order.
Listing arrange(Listing listing, const Choice& choice);

// The position of the chosen row, or of the row that took its place; 0 if there is none.
std::size_t position_of(const Listing& listing, const Choice& choice);

// Chooses another column to sort by: `step` is 1 or -1; after the last one comes the pane's own order.
void choose_sort(Choice& choice, const Listing& listing, int step);

// The widths of the columns in `room`, with `gap` between them; 0 for a column without room.
std::vector<std::size_t> column_widths(const Listing& listing, std::size_t room, std::size_t gap);

// Returns true if each column gets all the room that it wants.
bool fits(const Listing& listing, std::size_t room, std::size_t gap);

}  // namespace brood::watch
