#pragma once

#include <string>

namespace brood {

// A JSON value as text.  As a field of a job it takes any argument, byte for byte: integers of any size, the spelling
// of numbers, the order of members.
struct Json {
  std::string text = "null";  // one JSON value; what is none is refused with std::invalid_argument when it is enqueued

  // The same bytes: `1.0` is not `1`.
  friend bool operator==(const Json&, const Json&) = default;
};

}  // namespace brood
