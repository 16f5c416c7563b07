#pragma once

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>

namespace brood {

// How much the page shows of the arguments of a job; later ones show more.
enum class ShowArgs {
  none,
  keys,  // what they are made of: lists and objects with their keys, but no value
  all,
};

// [web] show_args, and the settings of [classes.NAME] beside it.
struct ShowArgsSettings {
  ShowArgs usual = ShowArgs::all;
  std::map<std::string, ShowArgs> of_class = {};

  // For a class with these names.  If several are named, the one that shows least holds.
  ShowArgs of(std::initializer_list<std::string> names) const {
    std::optional<ShowArgs> least;
    for (const std::string& name : names) {
      const auto found = of_class.find(name);
      if (found != of_class.end()) least = std::min(least.value_or(found->second), found->second);
    }
    return least.value_or(usual);
  }
  // For a job whose class cannot be read: it may be any.
  ShowArgs of_any() const {
    ShowArgs least = usual;
    for (const auto& [name, shows] : of_class) least = std::min(least, shows);
    return least;
  }
};

}  // namespace brood
