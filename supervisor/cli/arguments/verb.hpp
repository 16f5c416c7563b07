#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "supervisor/cli/arguments/command_line.hpp"

namespace brood {

// An action of a command such as `brood retries`: the word after its name.
struct Verb {
  std::string_view name;
  std::string_view operands;  // as the help text shows them: "JID..."
  std::string_view summary;
  std::vector<std::string_view> takes;  // the names of its options, beside those that all verbs have: "--limit"
};

// A verb and the function that obeys it; `Order` is the whole command line.
template <typename Order>
struct VerbFor {
  Verb verb;
  int (*obey)(const Order& order);
};

// The lines of a help text.
std::string help_on(std::string_view command, const std::vector<Verb>& verbs);

// Removes the verb from the front of `words` and returns its index in `verbs`; 0 if `words` are empty.  Throws
// UsageError for an unknown verb, and for an option that only other verbs take.
std::size_t take_verb(const CommandLine& line, const std::vector<Verb>& verbs, std::vector<std::string>& words);

template <typename Order>
std::vector<Verb> only_verbs(const std::vector<VerbFor<Order>>& verbs) {
  std::vector<Verb> all;
  for (const auto& one : verbs) all.push_back(one.verb);
  return all;
}

}  // namespace brood
