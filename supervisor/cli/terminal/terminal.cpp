#include "supervisor/cli/terminal/terminal.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "shared/base/log_line.hpp"

namespace brood {
namespace {

constexpr std::size_t widest_cell = 60;

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

std::string fit(const std::string& cell) {
  if (isatty(STDOUT_FILENO) != 1) return log::printable(cell);  // programs get the whole text
  const std::string text = log::printable(cell.substr(0, 4 * widest_cell));
  if (width(text) <= widest_cell) return text;
  std::size_t end = 0;
  for (std::size_t characters = 0; characters < widest_cell; ++end) characters += starts_character(text[end]);
  return text.substr(0, end - 1) + "…";
}

}  // namespace

Style Style::of_standard_output() {
  const char* const no_colour = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  const bool plain = (no_colour && *no_colour) || (terminal && std::string_view(terminal) == "dumb");
  return Style(!plain && isatty(STDOUT_FILENO));
}

std::string Style::paint(std::string_view code, std::string_view text) const {
  return colour_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  std::transform(cells.begin(), cells.end(), cells.begin(), fit);
  rows_.push_back(std::move(cells));
}

std::string Table::text(const Style& style) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    widths.push_back(width(columns_[i].title));
    for (const auto& row : rows_) widths[i] = std::max(widths[i], width(row[i]));
  }
  const auto line = [&](const auto& cell_of) {
    std::string text;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string& cell = cell_of(i);
      const std::string padding(widths[i] - width(cell), ' ');
      text += "  " + (columns_[i].align == Align::right ? padding + cell : cell + padding);
    }
    return text.erase(text.find_last_not_of(' ') + 1);
  };
  std::string text = style.dim(line([&](std::size_t i) -> const std::string& { return columns_[i].title; })) + "\n";
  for (const auto& row : rows_) text += line([&](std::size_t i) -> const std::string& { return row[i]; }) + "\n";
  return text;
}

void print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) throw OutputClosed();
    if (written < 0) throw std::system_error(errno, std::generic_category(), "standard output");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void print_json(std::string_view json) { print(log::printable_json(json)); }

}  // namespace brood
