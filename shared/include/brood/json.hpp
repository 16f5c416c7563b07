#pragma once

#include <string>

namespace brood {

// A JSON value as text.  A field of this type accepts any argument and keeps its bytes: integers of any size, numbers
// as they are written, members in their order.
struct Json {
  std::string text = "null";  // one JSON value; an invalid one throws std::invalid_argument when it is enqueued

  // Compares the bytes: `1.0` is not `1`.
  friend bool operator==(const Json&, const Json&) = default;
};

}  // namespace brood
