#include <algorithm>

#include "shared/json/json.hpp"

namespace brood {
namespace {

// One past the closing quote of the string that begins at `begin`, in a text that has been checked.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
  std::size_t at = begin + 1;
  while (text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return at + 1;
}

}  // namespace

std::string json_shape(std::string_view text, std::string_view scalar) {
  JsonOutline::of(text);
  std::string out, containers;
  bool is_key = false;  // of a string that begins here
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const std::size_t begin = at++;
    switch (c) {
      case '{':
      case '[':
        containers += c;
        is_key = c == '{';
        out += c;
        break;
      case '}':
      case ']':
        containers.pop_back();
        out += c;
        break;
      case ',':
        is_key = containers.back() == '{';
        out += c;
        break;
      case ':':
        is_key = false;
        out += c;
        break;
      case '"':
        at = end_of_string(text, begin);
        out += is_key ? text.substr(begin, at - begin) : scalar;
        break;
      case ' ':
      case '\t':
      case '\r':
      case '\n':
        break;
      default:
        at = std::min(text.find_first_of(",]} \t\r\n", begin), text.size());
        out += scalar;
    }
  }
  return out;
}

}  // namespace brood
