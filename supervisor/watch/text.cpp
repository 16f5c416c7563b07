#include "supervisor/watch/text.hpp"

#include <wchar.h>

#include <algorithm>

#include "shared/base/log_line.hpp"

namespace brood::watch {
namespace {

constexpr std::size_t longest_text = 64 * 1024, most_combining = 2;

struct Character {
  char32_t code = 0;
  std::size_t bytes = 1;
};

// The first character of a text from clean() or log::printable(), which is valid UTF-8.
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(i < text.size() ? text[i] : 0); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  char32_t code = lead & (0xff >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) code = code << 6 | (byte(i) & 0x3f);
  return {code, std::min(length, text.size())};
}

int width_of(char32_t code) { return code < 0x80 ? 1 : wcwidth(static_cast<wchar_t>(code)); }

// Invisible characters change the direction of their neighbours or join them, and terminals disagree on the width.
bool is_invisible(char32_t code) {
  return code == 0xad || code == 0x34f || code == 0x61c || (code >= 0x1160 && code <= 0x11ff) ||
         (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2060 && code <= 0x206f) || (code >= 0xfe00 && code <= 0xfe0f) || code == 0xfeff ||
         (code >= 0xfff9 && code <= 0xfffb) || (code >= 0x1f3fb && code <= 0x1f3ff) || code >= 0xe0000;
}

}  // namespace

std::string clean(std::string_view text, const Glyphs& glyphs) {
  const std::string printable = log::printable(text.substr(0, longest_text));
  std::string cleaned;
  std::size_t combining = most_combining;  // there is nothing yet to combine with
  for (std::size_t at = 0; at < printable.size();) {
    const Character character = first_of(std::string_view(printable).substr(at));
    const std::string_view bytes(printable.data() + at, character.bytes);
    at += character.bytes;
    if (character.code < 0x80) {
      cleaned += bytes;
      combining = 0;
      continue;
    }
    const int columns = glyphs.utf8 ? width_of(character.code) : -1;
    if (columns < 0) {
      cleaned += '?';
      combining = 0;
    } else if (is_invisible(character.code)) {
      continue;
    } else if (columns > 0) {
      cleaned += bytes;
      combining = 0;
    } else if (combining++ < most_combining) {
      cleaned += bytes;
    }
  }
  return cleaned;
}

std::size_t width(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Character character = first_of(text);
    columns += static_cast<std::size_t>(std::max(0, width_of(character.code)));
    text.remove_prefix(character.bytes);
  }
  return columns;
}

std::string_view prefix(std::string_view text, std::size_t columns) {
  std::size_t end = 0, used = 0;
  while (end < text.size()) {
    const Character character = first_of(text.substr(end));
    used += static_cast<std::size_t>(std::max(0, width_of(character.code)));
    if (used > columns) break;
    end += character.bytes;
  }
  return text.substr(0, end);
}

std::string without_prefix(std::string_view text, std::size_t columns) {
  const std::string_view left_out = prefix(text, columns);
  std::string_view rest = text.substr(left_out.size());
  if (rest.empty() || width(left_out) == columns) return std::string(rest);
  rest.remove_prefix(first_of(rest).bytes);
  return " " + std::string(rest);
}

std::string cut(std::string_view text, std::size_t columns, const Glyphs& glyphs) {
  if (width(text) <= columns) return std::string(text);
  if (columns == 0) return "";
  return std::string(prefix(text, columns - 1)) + std::string(glyphs.ellipsis());
}

std::string fit(std::string_view text, std::size_t columns, Align align, const Glyphs& glyphs) {
  std::string fitted = cut(text, columns, glyphs);
  const std::string padding(columns - std::min(columns, width(fitted)), ' ');
  return align == Align::right ? padding + fitted : fitted + padding;
}

}  // namespace brood::watch
