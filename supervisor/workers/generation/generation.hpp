#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "shared/config/config.hpp"
#include "supervisor/process/child_bodies.hpp"

namespace brood {

// One configuration, and what the children run that are forked under it.  Its workers keep it to their end, also when a
// rolling restart has brought another generation.
struct Generation {
  std::uint32_t number = 1;
  std::shared_ptr<const Config> config = {};
  ChildBodies bodies = {};
  // Another program began it in this process.  What its workers did is forgotten, so no others are compared with them.
  bool is_of_another_program = false;
};

// Given by the program: what children run under this configuration.
using BodiesFor = std::function<ChildBodies(std::shared_ptr<const Config>)>;

}  // namespace brood
