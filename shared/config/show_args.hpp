#pragma once

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>

namespace brood {

// How much the page shows of the arguments of a job; each shows more than the one before.
enum class ShowArgs {
  none,
  keys,  // their structure: lists and objects with their keys, but no values
  all,
};

// [web] show_args, and the settings of [classes.NAME] beside it.
struct ShowArgsSettings {
  ShowArgs usual = ShowArgs::all;
  std::map<std::string, ShowArgs> of_class = {};

  // For a class with these names.  If settings name several of them, the one that shows least applies.
  ShowArgs of(std::initializer_list<std::string> names) const {
    std::optional<ShowArgs> least;
    for (const std::string& name : names) {
      const auto found = of_class.find(name);
      if (found != of_class.end()) least = std::min(least.value_or(found->second), found->second);
    }
    return least.value_or(usual);
  }
  // For a job whose class cannot be read, and so may be any.
  ShowArgs of_any() const {
    ShowArgs least = usual;
    for (const auto& [name, shows] : of_class) least = std::min(least, shows);
    return least;
  }
};

}  // namespace brood
