#pragma once

#include <string>

namespace brood {

// Whose an in-flight list is, and of which queue.
struct InFlightList {
  std::string identity, field, queue;
};

}  // namespace brood
