#include "supervisor/web/page/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>

#include "shared/base/clock.hpp"
#include "shared/base/units.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/cli/terminal/iso_time.hpp"
#include "supervisor/web/http/digest.hpp"

namespace brood {
namespace {

constexpr double longest_length = 1e9;  // seconds; foreign values may be anything
constexpr std::size_t most_pages = 1'000'000;
constexpr std::size_t longest_name = 200, most_lines = 200;
constexpr std::size_t digits_shown_of_text = 32;

std::string_view class_of(Tone tone) {
  switch (tone) {
    case Tone::plain:
      return "plain";
    case Tone::good:
      return "good";
    case Tone::warn:
      return "warn";
    case Tone::bad:
      return "bad";
  }
  return "";
}

std::string_view class_of(PageTable::Column::Kind kind) {
  switch (kind) {
    case PageTable::Column::Kind::text:
      return "text";
    case PageTable::Column::Kind::number:
      return "number";
    case PageTable::Column::Kind::actions:
      return "actions";
  }
  return "";
}

}  // namespace

std::string length_text(double seconds) {
  if (!std::isfinite(seconds) || std::abs(seconds) > longest_length) return "for ever";
  const double length = std::max(0.0, seconds);
  const double rounded = length < 1    ? std::round(length * 1000) / 1000
                         : length < 60 ? std::round(length * 10) / 10
                                       : std::round(length);
  if (length >= 1 && length < 60) return fmt::format("{:.1f}s", rounded);
  return duration_text(std::chrono::milliseconds(static_cast<std::int64_t>(rounded * 1000)));
}

Html ago(double epoch) {
  if (!std::isfinite(epoch) || std::abs(epoch) > 1e11) return Html("<span class=\"dim\">never</span>");
  const double since = epoch_seconds(wall_now()) - epoch;
  const std::string at = iso_time(WallTime(
      std::chrono::duration_cast<WallTime::duration>(std::chrono::duration<double>(std::clamp(epoch, -9e9, 9e9)))));
  const auto whole = [](double seconds) {
    return seconds < 60 ? fmt::format("{}s", static_cast<int>(seconds)) : length_text(seconds);
  };
  if (std::abs(since) < 1) return Html("<time datetime=\"{}\" title=\"{}\">now</time>", at, at);
  const std::string text = since >= 0 ? whole(since) + " ago" : "in " + whole(-since);
  return Html("<time datetime=\"{}\" title=\"{}\">{}</time>", at, at, text);
}

std::string memory_text(std::uint64_t kilobytes) {
  const double kb = static_cast<double>(kilobytes);
  if (kb < 1024) return fmt::format("{} KB", kilobytes);
  if (kb < 1024 * 1024) return fmt::format("{:.{}f} MB", kb / 1024, kb < 100 * 1024 ? 1 : 0);
  return fmt::format("{:.1f} GB", kb / 1024 / 1024);
}

std::string rate_text(double number) {
  if (!std::isfinite(number)) return "–";
  if (number >= 100 || number == 0) return grouped(static_cast<std::uint64_t>(std::llround(number)));
  return fmt::format("{:.{}f}", number, number >= 10 ? 0 : number >= 1 ? 1 : 2);
}

Html badge(Tone tone, std::string_view text) {
  return Html("<span class=\"badge {}\">{}</span>", class_of(tone), shown_name(text));
}

Html token_field(const Call& call) { return Html("<input type=\"hidden\" name=\"token\" value=\"{}\">", call.token); }

Html button(const Call& call, const Url& action, const Button& button) {
  if (!call.may(button.role) || action.is_too_long()) return {};
  const std::string_view looks = button.is_dangerous ? "danger" : "";
  if (button.in_row)
    return Html("<button class=\"small {}\" formaction=\"{}\">{}</button>", looks, action, button.label);
  return Html("<form method=\"post\" action=\"{}\">{}<button class=\"{}\">{}</button></form>", action,
              token_field(call), looks, button.label);
}

void PageTable::add(const std::vector<Html>& cells) {
  ++count_;
  rows_.add("<tr>");
  for (std::size_t i = 0; i < std::min(cells.size(), columns_.size()); ++i) {
    const Column& column = columns_[i];
    if (column.kind == Column::Kind::actions)
      rows_.add("<td class=\"actions\">{}</td>", cells[i]);
    else if (column.kind == Column::Kind::number)
      rows_.add("<td class=\"number\" data-label=\"{}\">{}</td>", column.title, cells[i]);
    else
      rows_.add("<td data-label=\"{}\">{}</td>", column.title, cells[i]);
  }
  rows_.add("</tr>");
}

Html PageTable::html(const Call& call, std::string_view nothing) const {
  if (count_ == 0) return Html("<p class=\"empty\">{}</p>", nothing);
  Html head;
  bool has_buttons = false;
  for (const Column& column : columns_) {
    has_buttons |= column.kind == Column::Kind::actions;
    if (column.kind == Column::Kind::actions)
      head.add("<th scope=\"col\" class=\"actions\"><span class=\"sr\">{}</span></th>", column.title);
    else
      head.add("<th scope=\"col\" class=\"{}\">{}</th>", class_of(column.kind), column.title);
  }
  const Html table(
      "<div class=\"table\"><table><caption class=\"sr\">{}</caption><thead><tr>{}</tr></thead>"
      "<tbody>{}</tbody></table></div>",
      caption_, head, rows_);
  // One form for all rows: each of their buttons has its own address.
  return has_buttons ? Html("<form method=\"post\">{}{}</form>", token_field(call), table) : table;
}

Html tiles(std::span<const Tile> all) {
  Html out;
  for (const Tile& tile : all) {
    const Html figure = tile.link ? link(*tile.link, tile.figure) : Html("{}", tile.figure);
    out.add("<div class=\"tile {}\"><dt>{}</dt><dd>{}</dd>{}</div>", class_of(tile.tone), tile.name, figure,
            tile.remark.empty() ? Html() : Html("<dd class=\"remark\">{}</dd>", tile.remark));
  }
  return Html("<dl class=\"tiles\">{}</dl>", out);
}

Html section(std::string_view title, const Html& body) { return Html("<section><h2>{}</h2>{}</section>", title, body); }

void Facts::add(std::string_view name, const Html& value) {
  rows_.add("<div><dt>{}</dt><dd>{}</dd></div>", name, value);
}
void Facts::add(std::string_view name, std::string_view value) { add(name, Html("{}", value)); }

std::string digest_of(std::string_view text) { return sha256_digits(text).substr(0, digits_shown_of_text); }

std::string shown_name(std::string_view name) {
  const std::string_view shown = beginning_of(name, longest_name);
  return std::string(shown) + (shown.size() < name.size() ? "…" : "");
}

Html lines(std::span<const std::string> all) {
  Html text;
  for (const std::string& line : all.first(std::min(all.size(), most_lines))) text.add("{}\n", line);
  if (all.size() > most_lines) text.add("… and {} more\n", all.size() - most_lines);
  return Html("<pre tabindex=\"0\">{}</pre>", text);
}

Html code(std::string_view text) { return Html("<code>{}</code>", shown_name(text)); }
Html link(const Url& url, std::string_view text) {
  if (url.is_too_long()) return Html("{}", shown_name(text));
  return Html("<a href=\"{}\">{}</a>", url, shown_name(text));
}

Html link_by_name(const Url& url, std::string_view name) {
  return name.empty() ? Html("<span class=\"dim\">(no name)</span>") : link(url, name);
}

std::size_t page_number(const Call& call) {
  const std::string text = call.query.value("page");
  std::size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return std::min(number, most_pages);
}

Html pager(const Url& url, std::size_t number, bool has_more, std::string_view summary) {
  const auto step = [&](std::size_t to, const char* label) {
    return Html("<a class=\"step\" href=\"{}\">{}</a>", url.with("page", std::to_string(to)), label);
  };
  return Html("<nav class=\"pager\" aria-label=\"Pages of the list\"><p>{}</p><div>{}{}</div></nav>", summary,
              number > 0 ? step(number - 1, "Page before") : Html(), has_more ? step(number + 1, "Next page") : Html());
}

}  // namespace brood
