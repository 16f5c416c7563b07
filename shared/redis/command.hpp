#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace brood {

// One Redis command, argument by argument; arguments are bytes, not text.
struct Command {
  std::vector<std::string> args;

  Command() = default;
  Command(std::initializer_list<std::string_view> words) : args(words.begin(), words.end()) {}
  Command& add(std::string_view arg) {
    args.emplace_back(arg);
    return *this;
  }
};

}  // namespace brood
