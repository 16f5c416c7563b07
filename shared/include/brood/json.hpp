#pragma once

#include <string>

namespace brood {

// A JSON value as text.  As a field of a job it takes any argument, byte for byte: integers of any size, the spelling
// of numbers, the order of members.
struct Json {
  std::string text = "null";

  friend bool operator==(const Json&, const Json&) = default;
};

}  // namespace brood
