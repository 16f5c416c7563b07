#include "supervisor/watch/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "supervisor/watch/line.hpp"
#include "supervisor/watch/panes.hpp"

namespace brood::watch {
namespace {

const std::vector<std::string>& help_lines() {
  static const std::vector<std::string> lines = {
      "1 2 3 4 5          show a pane; Tab, Shift-Tab, Left, Right: the next",
      "Up Down k j        move; PgUp PgDn b Space: a page; Home End g G: the ends",
      "Enter l            details of the chosen row: of a crash the whole stack",
      "Esc q              close it again; q on a table ends the program",
      "/                  show only rows that hold a text; Esc shows all again",
      "s > <              sort by the next column, or the one before",
      "r                  reverse the order",
      "p                  pause the display, or go on",
      "d                  show the native stack of the chosen worker; it goes on",
      "K                  end the job of the chosen worker, after a question",
      "Ctrl-L             redraw everything",
      "",
      "Workers, classes and, with workers here, rates are of this machine and user",
      "and of this moment, even without Redis. Everything else comes from Redis,",
      "whose totals the processes update every ten seconds. While Redis does",
      "not answer, its last data stay, and the first line shows their age.",
      "",
      "AGE 8s/10s         runs for 8 s, of 10 s at most; 11s!10s when it is over",
      "JOBS FAILED        of this worker, since it began",
      "RSS CPU%           as in top(1): shared memory counts too",
      "CHANGE             how fast a queue grows or shrinks, over some seconds",
      "AVERAGE CPU EACH   a run's time, and its processor time",
      "PEAK               the largest memory of one run",
      "BEAT               since the last heartbeat; ! after half a minute without",
  };
  return lines;
}

constexpr std::size_t margin = 2;  // where the chosen row is marked

// The part of a long text that fits into the first line: it ends at a space, if one is near.
std::string first_part(std::string_view text, std::size_t columns) {
  const std::string_view all = prefix(text, columns);
  const std::size_t space = all.rfind(' ');
  return std::string(space != all.npos && space >= all.size() / 2 ? all.substr(0, space + 1) : all);
}

// Continues long lines in the next one, indented a little.
std::vector<std::string> broken(const std::vector<std::string>& lines, std::size_t columns, const Glyphs& glyphs) {
  constexpr std::size_t indent = 4;
  columns = std::max<std::size_t>(columns, 2 * indent);
  std::vector<std::string> all;
  for (const std::string& line : lines) {
    std::string rest = clean(line, glyphs), lead;
    while (width(rest) > columns - lead.size()) {
      const std::string part = first_part(rest, columns - lead.size());
      all.push_back(lead + part);
      rest.erase(0, part.size());
      lead.assign(indent, ' ');
    }
    all.push_back(lead + rest);
  }
  return all;
}

std::vector<std::string> lines_shown(const View& view, const Glyphs& glyphs, Size size) {
  const std::size_t columns = size.columns - std::min(size.columns, 2 * margin);
  return broken(view.help ? help_lines() : view.detail->lines, columns, glyphs);
}

std::size_t count_of(const Model& model, Pane pane) {
  switch (pane) {
    case Pane::workers:
      return model.machine().workers.size();
    case Pane::queues:
      return model.redis() ? model.redis()->queues.size() : 0;
    case Pane::classes:
      return model.machine().classes.size();
    case Pane::crashes:
      return model.redis() ? model.redis()->crashes.size() : 0;
    case Pane::processes:
      return model.redis() ? model.redis()->processes.size() : 0;
  }
  return 0;
}

Line tabs(const View& view, const Scene& scene, std::size_t columns) {
  constexpr std::size_t room_for_names = 70;
  Line left;
  for (std::size_t i = 0; i < panes; ++i) {
    const auto pane = static_cast<Pane>(i);
    const bool is_chosen = pane == view.pane;
    std::string text = std::to_string(i + 1);
    if (is_chosen || columns >= room_for_names)
      text += fmt::format(" {} {}", title_of(pane), count_of(scene.model, pane));
    left.push_back({is_chosen ? "[" + text + "]" : " " + text + " ", is_chosen ? Look::bold : Look::plain});
  }
  Line right;
  if (view.paused) right.push_back({"PAUSED", Look::warning});
  return justified(std::move(left), std::move(right), columns, scene.glyphs);
}

// The filter of the table as text; empty if there is none.
std::string how_it_is_shown(const View& view, const Glyphs& glyphs) {
  std::string text;
  if (!view.choice().filter.empty()) text = fmt::format("filter \"{}\"  ", clean(view.choice().filter, glyphs));
  return text;
}

Line titles(const View& view, const Scene& scene, const std::vector<std::size_t>& widths, std::size_t gap,
            std::size_t columns) {
  std::string text(margin, ' ');
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] == 0) continue;
    const Column& column = scene.listing.columns[i];
    std::string title = column.title;
    if (view.choice().sort == column.title) {
      const bool down = view.choice().descending;
      title += scene.glyphs.blocks ? (down ? "▼" : "▲") : (down ? "v" : "^");
    }
    if (text.size() > margin) text.append(gap, ' ');
    text += fit(title, widths[i], column.align, scene.glyphs);
  }
  return padded({{text, Look::title}}, columns, scene.glyphs);
}

Line row_line(const Row& row, const Listing& listing, const std::vector<std::size_t>& widths, std::size_t gap,
              bool is_chosen, std::size_t columns, const Glyphs& glyphs) {
  Line line = {{is_chosen ? "> " : "  "}};
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] == 0) continue;
    if (line.size() > 1) line.back().text.append(gap, ' ');
    line.push_back({fit(row.cells[i].text, widths[i], listing.columns[i].align, glyphs), row.cells[i].look});
  }
  line = padded(std::move(line), columns, glyphs);
  if (is_chosen) {
    for (Span& span : line) span.look = Look::selected;
  }
  return line;
}

void lay_out_table(View& view, const Scene& scene, Size size, std::size_t rows, Frame& frame) {
  const Listing& listing = scene.listing;
  const std::size_t room = size.columns - std::min(size.columns, margin);
  const std::size_t gap = fits(listing, room, 2) ? 2 : 1;
  const auto widths = column_widths(listing, room, gap);
  frame.lines.push_back(titles(view, scene, widths, gap, size.columns));
  if (listing.rows.empty()) {
    frame.lines.push_back({{"  " + listing.when_empty, Look::dim}});
    return;
  }
  const std::size_t chosen = position_of(listing, view.choice());
  std::size_t& top = view.choice().top;
  top = std::min(top, listing.rows.size() - std::min(rows, listing.rows.size()));
  if (chosen < top) top = chosen;
  if (rows > 0 && chosen >= top + rows) top = chosen - rows + 1;
  view.choice().position = chosen;
  for (std::size_t i = top; i < std::min(top + rows, listing.rows.size()); ++i)
    frame.lines.push_back(row_line(listing.rows[i], listing, widths, gap, i == chosen, size.columns, scene.glyphs));
}

void lay_out_lines(View& view, const Scene& scene, Size size, std::size_t rows, Frame& frame) {
  const std::vector<std::string> lines = lines_shown(view, scene.glyphs, size);
  const std::string title = view.help ? "Help" : clean(view.detail->title, scene.glyphs);
  const bool scrolls = lines.size() > rows;
  std::size_t& top = view.help ? view.help_top : view.detail->top;
  top = std::min(top, lines.size() - std::min(rows, lines.size()));
  const std::string place = scrolls ? fmt::format("lines {}-{} of {}  ", top + 1, top + rows, lines.size()) : "";
  frame.lines.push_back(
      justified({{"  " + title, Look::title}}, {{place + "Esc closes ", Look::title}}, size.columns, scene.glyphs));
  for (Span& span : frame.lines.back()) span.look = Look::title;
  for (std::size_t i = top; i < std::min(top + rows, lines.size()); ++i) frame.lines.push_back({{"  " + lines[i]}});
}

// As many key hints as fit, the most useful first.
Line hints(const View& view, const Scene& scene, std::size_t columns) {
  std::vector<std::pair<const char*, const char*>> keys = {{"?", "help"}, {"q", "quit"}};
  if (view.help || view.detail) {
    keys = {{"Esc", "close"}, {"j/k", "scroll"}};
    if (view.detail && view.pane == Pane::workers) keys.insert(keys.end(), {{"d", "stack"}, {"K", "end job"}});
  } else {
    keys.insert(keys.end(), {{"Tab", "pane"}, {"Enter", "open"}, {"/", "filter"}, {"s", "sort"}});
    if (view.pane == Pane::workers) keys.insert(keys.end(), {{"d", "stack"}, {"K", "end job"}});
    keys.emplace_back("p", view.paused ? "go on" : "pause");
  }
  const std::size_t rows = scene.listing.rows.size();
  Line right;
  if (!view.help && !view.detail && rows > 0) {
    right.push_back({fmt::format("{}{} of {}", how_it_is_shown(view, scene.glyphs),
                                 position_of(scene.listing, view.choice()) + 1, rows)});
  }
  Line left;
  std::size_t used = width_of(right) + 2;
  for (const auto& [key, what] : keys) {
    const std::string name = fmt::format(" {} ", what);
    if (used + std::string_view(key).size() + name.size() > columns) break;
    left.push_back({key, Look::bold});
    left.push_back({name + " "});
    used += std::string_view(key).size() + name.size() + 1;
  }
  return justified(std::move(left), std::move(right), columns, scene.glyphs);
}

// The longest wording that fits.  The possible answers are at its end, so it must not be cut.
std::string question(const Proposal& proposal, std::size_t columns, const Glyphs& glyphs) {
  std::string shown;
  for (const std::string& wording : proposal.questions) {
    shown = clean(wording, glyphs);
    if (width(shown) <= columns) break;
  }
  return shown;
}

Line footer(const View& view, const Scene& scene, Size size, Frame& frame) {
  if (view.proposal) {
    return padded({{question(*view.proposal, size.columns, scene.glyphs), Look::warning}}, size.columns, scene.glyphs);
  }
  if (view.filter_before) {
    const std::string typed = "/" + clean(view.choice().filter, scene.glyphs);
    const std::size_t room = size.columns - std::min<std::size_t>(size.columns, 1);
    const std::size_t hidden = width(typed) - std::min(width(typed), room);
    frame.cursor = width(typed) - hidden;
    return {{without_prefix(typed, hidden)}};
  }
  if (!view.notice.empty())
    return padded({{clean(view.notice, scene.glyphs), Look::warning}}, size.columns, scene.glyphs);
  return hints(view, scene, size.columns);
}

}  // namespace

std::size_t body_rows(Size size) {
  const std::size_t others = header_rows(size) + 3;  // panes, titles and the last line
  return size.rows - std::min(size.rows, others);
}

std::size_t body_lines(const View& view, const Glyphs& glyphs, Size size) {
  return view.help || view.detail ? lines_shown(view, glyphs, size).size() : 0;
}

Frame lay_out(View& view, const Scene& scene, Size size) {
  Frame frame;
  if (size.rows == 0 || size.columns == 0) return frame;
  frame.lines = header(scene, size);
  frame.lines.push_back(tabs(view, scene, size.columns));
  const std::size_t rows = body_rows(size);
  if (view.help || view.detail)
    lay_out_lines(view, scene, size, rows, frame);
  else
    lay_out_table(view, scene, size, rows, frame);
  frame.lines.resize(size.rows - 1);
  frame.lines.push_back(footer(view, scene, size, frame));
  for (Line& line : frame.lines) line = padded(std::move(line), size.columns, scene.glyphs);
  return frame;
}

}  // namespace brood::watch
