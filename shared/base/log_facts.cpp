#include "shared/base/log_facts.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace brood::log {
namespace {

constexpr std::size_t most_facts = 16, longest_name = 64, longest_standing_value = 1'000;

struct StandingFact {
  std::string name, value;
};

std::vector<StandingFact>& all() {
  static std::vector<StandingFact> standing;
  return standing;
}

// The facts point to the names in `all()`.
std::vector<Fact>& as_facts() {
  static std::vector<Fact> facts;
  return facts;
}

bool is_name(std::string_view name) {
  constexpr std::array<std::string_view, 5> of_every_line{"ts", "level", "pid", "event", "message"};
  constexpr std::string_view others = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  return !name.empty() && name.size() <= longest_name && name.find_first_not_of(others) == std::string_view::npos &&
         std::find(of_every_line.begin(), of_every_line.end(), name) == of_every_line.end();
}

}  // namespace

bool set_standing_fact(std::string_view name, std::string_view value) {
  if (!is_name(name)) return false;
  const std::string kept(value.substr(0, longest_standing_value));
  const auto known =
      std::find_if(all().begin(), all().end(), [&](const StandingFact& one) { return one.name == name; });
  if (known != all().end()) {
    known->value = kept;
  } else if (all().size() < most_facts) {
    all().push_back({std::string(name), kept});
  } else {
    return false;
  }
  as_facts().clear();
  for (const StandingFact& one : all()) as_facts().emplace_back(one.name, one.value);
  return true;
}

void clear_standing_facts() {
  if (all().empty()) return;
  as_facts().clear();
  all().clear();
}

const std::vector<Fact>& standing_facts() { return as_facts(); }

}  // namespace brood::log
