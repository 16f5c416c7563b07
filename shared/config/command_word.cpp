#include "shared/config/command_word.hpp"

#include <charconv>
#include <stdexcept>
#include <utility>

namespace brood {
namespace {

constexpr std::size_t most_arguments = 1000;
constexpr const char* spelling = "{0} is the first argument, {args} is all of them, {{ and }} are braces";

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what + "; " + spelling); }

WordPart read_place(std::string_view name) {
  if (name == "args") return {.kind = WordPart::Kind::all_arguments};
  std::size_t number = 0;
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data(), end, number);
  if (name.empty() || read.ec != std::errc() || read.ptr != end || number >= most_arguments)
    refuse("\"{" + std::string(name) + "}\" stands for nothing");
  return {.kind = WordPart::Kind::argument, .argument = number};
}

}  // namespace

std::vector<WordPart> parse_command_word(std::string_view word) {
  std::vector<WordPart> parts;
  std::string text;
  const auto end_text = [&] {
    if (!text.empty()) parts.push_back({.text = std::exchange(text, {})});
  };
  for (std::size_t i = 0; i < word.size(); ++i) {
    const char c = word[i];
    if (c != '{' && c != '}') {
      text += c;
    } else if (i + 1 < word.size() && word[i + 1] == c) {
      text += c;
      ++i;
    } else {
      const std::size_t close = word.find('}', i);
      if (c == '}' || close == word.npos) refuse(std::string("a single ") + c);
      end_text();
      parts.push_back(read_place(word.substr(i + 1, close - i - 1)));
      i = close;
    }
  }
  end_text();
  for (const WordPart& part : parts) {
    if (part.kind == WordPart::Kind::all_arguments && parts.size() > 1) refuse("{args} must be a word of its own");
  }
  return parts;
}

}  // namespace brood
