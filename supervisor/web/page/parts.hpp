#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/web/page/call.hpp"
#include "supervisor/web/page/html.hpp"

namespace brood {

// The common parts of all pages.

// How long ago it was, or how long until then, with the point in time in UTC.
Html ago(double epoch_seconds);
// "2m5s", "350ms".
std::string length_text(double seconds);
// "12.3 MB", from kilobytes.
std::string memory_text(std::uint64_t kilobytes);
// "0.42", "13", "1,204", for a count or an average.
std::string rate_text(double number);

// The meaning of a word, shown as a colour.  The word must also be clear without it.
enum class Tone { plain, good, warn, bad };
Html badge(Tone tone, std::string_view text);

// A button that posts to `action`, in the form of its table or in its own form.  Users without the right see nothing.
struct Button {
  std::string_view label;
  Role role;
  bool is_dangerous = false;
  bool in_row = true;
};
Html button(const Call& call, const Url& action, const Button& button);

// The token that every form carries.
Html token_field(const Call& call);

// A table with a caption, headed columns and rows of cells.  On a narrow screen each row becomes a card, in which each
// cell has its column's name.
class PageTable {
 public:
  struct Column {
    std::string_view title;
    enum class Kind { text, number, actions } kind = Kind::text;
  };
  static constexpr Column::Kind number = Column::Kind::number, actions = Column::Kind::actions;
  PageTable(std::string_view caption, std::vector<Column> columns) : caption_(caption), columns_(std::move(columns)) {}

  void add(const std::vector<Html>& cells);
  std::size_t rows() const { return count_; }
  // `nothing` is shown instead if there are no rows.
  Html html(const Call& call, std::string_view nothing) const;

 private:
  std::string caption_;
  std::vector<Column> columns_;
  Html rows_;
  std::size_t count_ = 0;
};

// A figure with its name, and optionally a link and a remark.
struct Tile {
  std::string_view name;
  std::string figure;
  std::string remark = {};
  std::optional<Url> link = {};
  Tone tone = Tone::plain;
};
Html tiles(std::span<const Tile> tiles);

// A headed part of a page.
Html section(std::string_view title, const Html& body);

// Names with their values, one below the other.
class Facts {
 public:
  void add(std::string_view name, const Html& value);
  void add(std::string_view name, std::string_view value);
  Html html() const { return Html("<dl class=\"facts\">{}</dl>", rows_); }

 private:
  Html rows_;
};

// A name, cut if it is longer than any name should be.
std::string shown_name(std::string_view name);

// Lets a button refer to exactly what was shown.
std::string digest_of(std::string_view text);

// Lines unchanged, such as a stack; the first two hundred.
Html lines(std::span<const std::string> lines);
// Names, cut in the same way.
Html code(std::string_view text);
Html link(const Url& url, std::string_view text);
// A link to the page of this name.  The URL contains the whole name, the text a cut one.  No link without a URL.
Html link_by_name(const Url& url, std::string_view name);

// Links to the previous and next page; `number` counts from 0.
Html pager(const Url& url, std::size_t number, bool has_more, std::string_view summary);
std::size_t page_number(const Call& call);

}  // namespace brood
