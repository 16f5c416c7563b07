#include "supervisor/watch/listing.hpp"

#include <algorithm>
#include <numeric>

#include "shared/base/ascii.hpp"

namespace brood::watch {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), ascii::lower);
  return text;
}

bool holds(const Row& row, const std::string& wanted) {
  return std::any_of(row.cells.begin(), row.cells.end(),
                     [&](const Cell& cell) { return lower(cell.text).find(wanted) != std::string::npos; });
}

std::size_t index_of(const Listing& listing, const std::string& title) {
  const auto found = std::find_if(listing.columns.begin(), listing.columns.end(),
                                  [&](const Column& column) { return column.title == title; });
  return static_cast<std::size_t>(found - listing.columns.begin());
}

std::vector<std::size_t> natural_widths(const Listing& listing) {
  std::vector<std::size_t> natural;
  for (const Column& column : listing.columns)
    natural.push_back(std::max(column.least, width(column.title) + 1));  // room for the arrow of a sorted column
  for (const Row& row : listing.rows) {
    for (std::size_t i = 0; i < natural.size(); ++i) natural[i] = std::max(natural[i], width(row.cells[i].text));
  }
  return natural;
}

}  // namespace

Listing arrange(Listing listing, const Choice& choice) {
  if (!choice.filter.empty()) {
    const std::string wanted = lower(choice.filter);
    std::erase_if(listing.rows, [&](const Row& row) { return !holds(row, wanted); });
    if (listing.rows.empty()) listing.when_empty = "no row here has \"" + choice.filter + "\"";
  }
  const std::size_t column = choice.sort ? index_of(listing, *choice.sort) : listing.columns.size();
  if (column == listing.columns.size()) return listing;
  const bool by_number = listing.columns[column].by_number;
  const auto before = [&](const Row& a, const Row& b) {
    const Cell &left = a.cells[column], &right = b.cells[column];
    return by_number ? left.order < right.order : left.text < right.text;
  };
  // Equal rows keep the pane's own order in both directions.
  std::stable_sort(listing.rows.begin(), listing.rows.end(),
                   [&](const Row& a, const Row& b) { return choice.descending ? before(b, a) : before(a, b); });
  return listing;
}

std::size_t position_of(const Listing& listing, const Choice& choice) {
  if (listing.rows.empty()) return 0;
  if (choice.row.empty()) return 0;
  const auto found =
      std::find_if(listing.rows.begin(), listing.rows.end(), [&](const Row& row) { return row.key == choice.row; });
  if (found != listing.rows.end()) return static_cast<std::size_t>(found - listing.rows.begin());
  return std::min(choice.position, listing.rows.size() - 1);
}

void choose_sort(Choice& choice, const Listing& listing, int step) {
  const std::size_t orders = listing.columns.size() + 1;  // the last is the pane's own
  const std::size_t now = choice.sort ? index_of(listing, *choice.sort) : orders - 1;
  const std::size_t next = (now + (step > 0 ? 1 : orders - 1)) % orders;
  if (next == orders - 1) {
    choice.sort.reset();
    choice.descending = false;
    return;
  }
  choice.sort = listing.columns[next].title;
  choice.descending = listing.columns[next].by_number;  // people look for the largest first
}

bool fits(const Listing& listing, std::size_t room, std::size_t gap) {
  const std::vector<std::size_t> natural = natural_widths(listing);
  return std::accumulate(natural.begin(), natural.end(), gap * (natural.size() - 1)) <= room;
}

std::vector<std::size_t> column_widths(const Listing& listing, std::size_t room, std::size_t gap) {
  const std::size_t count = listing.columns.size();
  const std::vector<std::size_t> natural = natural_widths(listing);
  std::vector<std::size_t> widths = natural;
  for (std::size_t i = 0; i < count; ++i) {
    const Column& column = listing.columns[i];
    if (column.shrinks) widths[i] = std::max(column.least, width(column.title) + 1);
  }
  const auto used = [&] {
    const auto shown =
        static_cast<std::size_t>(std::count_if(widths.begin(), widths.end(), [](auto w) { return w > 0; }));
    return std::accumulate(widths.begin(), widths.end(), gap * (shown > 0 ? shown - 1 : 0));
  };
  while (used() > room) {
    std::size_t worst = count;
    for (std::size_t i = 0; i < count; ++i) {
      if (widths[i] > 0 && (worst == count || listing.columns[i].importance < listing.columns[worst].importance))
        worst = i;
    }
    const bool is_last = std::count_if(widths.begin(), widths.end(), [](auto w) { return w > 0; }) == 1;
    if (worst == count) break;
    widths[worst] = is_last ? room : 0;
  }
  for (std::size_t left = room - std::min(room, used()); left > 0; --left) {
    const auto need = [&](std::size_t i) { return widths[i] > 0 ? natural[i] - std::min(natural[i], widths[i]) : 0; };
    std::size_t next = count;
    for (std::size_t i = 0; i < count; ++i) {
      if (need(i) == 0) continue;
      const int importance = listing.columns[i].importance;
      const int highest = next == count ? -1 : listing.columns[next].importance;
      if (importance > highest || (importance == highest && need(i) > need(next))) next = i;
    }
    if (next == count) break;
    ++widths[next];
  }
  return widths;
}

}  // namespace brood::watch
