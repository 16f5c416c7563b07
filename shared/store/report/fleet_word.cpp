#include "shared/store/report/fleet_word.hpp"

#include <fmt/format.h>

#include <map>

#include "shared/json/json.hpp"

namespace brood {
namespace {

constexpr std::string_view prefix = "brood ";
constexpr std::size_t longest_word = 2'000;

}  // namespace

std::string text_of(const FleetWord& word) {
  std::string text = std::string(prefix) + "[" + json_string(word.verb);
  for (const std::string& argument : word.arguments) text += "," + json_string(argument);
  return text + "]";
}

std::optional<FleetWord> parse_fleet_word(std::string_view text) {
  static const std::map<std::string, std::size_t> arguments_of = {{"resume", 0}, {"scale", 2}, {"kill", 2}};
  if (text.size() > longest_word || !text.starts_with(prefix)) return std::nullopt;
  try {
    FleetWord word;
    for (const std::string& element : json_elements(text.substr(prefix.size()))) {
      if (!element.starts_with('"')) return std::nullopt;
      if (word.verb.empty())
        word.verb = json_unescape(element);
      else
        word.arguments.push_back(json_unescape(element));
    }
    const auto known = arguments_of.find(word.verb);
    return known != arguments_of.end() && known->second == word.arguments.size() ? std::optional(word) : std::nullopt;
  } catch (const BadJson&) {
    return std::nullopt;
  }
}

}  // namespace brood
