#include <locale.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>

#include <brood/detail/write_arguments.hpp>

#include "shared/json/json.hpp"

namespace brood {
namespace {

// Reads a double that is too large or too small for from_chars, which does not report which of the two it is.
double rounded_to_range(const std::string& text) {
  static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
  return strtod_l(text.c_str(), nullptr, c_locale);
}

constexpr std::string_view replacement = "\xef\xbf\xbd";  // U+FFFD

// One step through text that should be UTF-8: a character, or the longest run of bytes that begins like a character and
// is none.  Such a run becomes one U+FFFD, as in Ruby's scrub.
struct Utf8Step {
  std::size_t length;
  bool valid;
};

Utf8Step utf8_step(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte(at);
  if (first < 0x80) return {1, true};

  std::size_t length = 0;
  unsigned low = 0x80, high = 0xbf;  // what the second byte may be: no overlong forms, surrogates, or above U+10FFFF
  if (first >= 0xc2 && first <= 0xdf)
    length = 2;
  else if (first >= 0xe0 && first <= 0xef) {
    length = 3;
    if (first == 0xe0) low = 0xa0;
    if (first == 0xed) high = 0x9f;
  } else if (first >= 0xf0 && first <= 0xf4) {
    length = 4;
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;
  } else {
    return {1, false};
  }
  for (std::size_t i = 1; i < length; ++i) {
    const unsigned next = byte(at + i);
    if (next < low || next > high) return {i, false};
    low = 0x80;
    high = 0xbf;
  }
  return {length, true};
}

void append_utf8(std::string& out, unsigned code) {
  const auto put = [&](unsigned byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

void append_escaped(std::string& out, char c) {
  constexpr std::string_view hex = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  const auto byte = static_cast<unsigned char>(c);
  if (byte < 0x20) {
    out += "\\u00";
    out += hex[byte >> 4];
    out += hex[byte & 15];
  } else {
    out += c;
  }
}

unsigned hex4(std::string_view text, std::size_t at) {
  unsigned code = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    const char c = text[i];
    code = code * 16 + static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return code;
}

// The character of the \u escape at `at`.  Moves `at` past it, and past the second half of a pair.
unsigned unicode_escape(std::string_view text, std::size_t& at) {
  const unsigned code = hex4(text, at + 2);
  at += 6;
  if (code < 0xd800 || code > 0xdfff) return code;
  if (code < 0xdc00 && text.substr(at, 2) == "\\u") {
    const unsigned second = hex4(text, at + 2);
    if (second >= 0xdc00 && second <= 0xdfff) {
      at += 6;
      return 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
    }
  }
  return 0xfffd;
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Step step = utf8_step(text, i);
    if (!step.valid)
      out += replacement;
    else if (step.length == 1)
      append_escaped(out, text[i]);
    else
      out += text.substr(i, step.length);
    i += step.length;
  }
  out += '"';
  return out;
}

std::string json_float(double value) {
  std::string out;
  detail::write_floating(out, value);
  return out;
}

std::string json_unescape(std::string_view quoted) {
  std::string out;
  json_unescape(quoted, out);
  return out;
}

void json_unescape(std::string_view quoted, std::string& out) {
  const std::string_view text = quoted.substr(1, quoted.size() - 2);
  std::size_t escape = std::min(text.find('\\'), text.size());
  out.assign(text, 0, escape);
  for (std::size_t i = escape; i < text.size();) {
    escape = std::min(text.find('\\', i), text.size());
    out += text.substr(i, escape - i);
    i = escape;
    if (i == text.size()) break;
    switch (text[i + 1]) {
      case 'u':
        append_utf8(out, unicode_escape(text, i));
        continue;
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      default:
        out += text[i + 1];
        break;
    }
    i += 2;
  }
}

// Goes character by character, since find_first_of() takes three times as long.  It is called for the times of each
// job.
bool is_json_integer(std::string_view scalar) {
  return !scalar.empty() && (scalar[0] == '-' || (scalar[0] >= '0' && scalar[0] <= '9')) &&
         std::none_of(scalar.begin(), scalar.end(), [](char c) { return c == '.' || c == 'e' || c == 'E'; });
}

std::optional<double> json_number(std::string_view scalar) {
  const bool begins_one = !scalar.empty() && (scalar[0] == '-' || (scalar[0] >= '0' && scalar[0] <= '9'));
  if (!begins_one) return std::nullopt;
  double value = 0;
  const auto result = std::from_chars(scalar.data(), scalar.data() + scalar.size(), value);
  return result.ec == std::errc() ? value : rounded_to_range(std::string(scalar));
}

std::optional<std::int64_t> json_integer(std::string_view scalar) {
  if (!is_json_integer(scalar)) return std::nullopt;
  std::int64_t value = 0;
  const auto result = std::from_chars(scalar.data(), scalar.data() + scalar.size(), value);
  return result.ec == std::errc() ? std::optional(value) : std::nullopt;
}

std::string utf8_prefix(std::string_view text, std::size_t max_characters) {
  std::string out;
  for (std::size_t i = 0, characters = 0; i < text.size() && characters < max_characters; ++characters) {
    const Utf8Step step = utf8_step(text, i);
    out += step.valid ? text.substr(i, step.length) : replacement;
    i += step.length;
  }
  return out;
}

}  // namespace brood
