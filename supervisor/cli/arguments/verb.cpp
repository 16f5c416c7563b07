#include "supervisor/cli/arguments/verb.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "shared/base/log_line.hpp"
#include "shared/base/nearest.hpp"

namespace brood {
namespace {

bool takes(const Verb& verb, std::string_view option) {
  return std::find(verb.takes.begin(), verb.takes.end(), option) != verb.takes.end();
}

void refuse_options_of_others(const CommandLine& line, const std::vector<Verb>& verbs, const Verb& verb) {
  for (const std::string& name : line.given()) {
    const bool is_of_some = std::any_of(verbs.begin(), verbs.end(), [&](const Verb& one) { return takes(one, name); });
    if (is_of_some && !takes(verb, name)) throw UsageError(fmt::format("{} is no argument of {}", name, verb.name));
  }
}

}  // namespace

std::string help_on(std::string_view command, const std::vector<Verb>& verbs) {
  std::string text = "Verbs:\n";
  std::size_t width = 0;
  for (const Verb& verb : verbs) width = std::max(width, verb.name.size() + 1 + verb.operands.size());
  for (const Verb& verb : verbs)
    text += fmt::format("  {:<{}}  {}\n", fmt::format("{} {}", verb.name, verb.operands), width, verb.summary);
  return text + fmt::format("\"brood {0}\" is \"brood {0} {1}\".\n", command, verbs.front().name);
}

std::size_t take_verb(const CommandLine& line, const std::vector<Verb>& verbs, std::vector<std::string>& words) {
  std::size_t chosen = 0;
  if (!words.empty()) {
    const auto found =
        std::find_if(verbs.begin(), verbs.end(), [&](const Verb& verb) { return verb.name == words.front(); });
    if (found == verbs.end()) {
      std::vector<std::string> known;
      for (const Verb& verb : verbs) known.emplace_back(verb.name);
      const auto meant = nearest(words.front(), known);
      throw UsageError(fmt::format(
          "unknown verb \"{}\"; {}", log::printable(words.front().substr(0, 80)),
          meant ? fmt::format("did you mean \"{}\"?", *meant) : fmt::format("there are {}", fmt::join(known, ", "))));
    }
    chosen = static_cast<std::size_t>(found - verbs.begin());
    words.erase(words.begin());
  }
  refuse_options_of_others(line, verbs, verbs[chosen]);
  return chosen;
}

}  // namespace brood
