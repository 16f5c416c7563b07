#pragma once

#include <algorithm>
#include <charconv>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace brood {

// Numbers as files of the kernel, environment variables and Redis spell them.  The locale of the process does not
// matter: a library may set another at any time, in which 30.5 is written 30,5, and 1000 is 1.000 to a stream.

// Returns the number if the whole of `text` is one; nullopt if it is no number, or one that does not fit.
template <typename Number>
std::optional<Number> plain_number(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

// The number at the beginning of `text`, after spaces; 0 if there is none, or one that does not fit.
template <typename Number>
Number leading_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  Number number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// For `stream >> plain(number)`: the next word, which must be a number.
template <typename Number>
struct PlainNumber {
  Number& number;
  friend std::istream& operator>>(std::istream& in, PlainNumber into) {
    std::string word;
    if (!(in >> word)) return in;
    const auto read = plain_number<Number>(word);
    into.number = read.value_or(0);
    if (!read) in.setstate(std::ios::failbit);
    return in;
  }
};
template <typename Number>
PlainNumber<Number> plain(Number& number) {
  return {number};
}

}  // namespace brood
