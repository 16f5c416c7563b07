#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "shared/config/config.hpp"
#include "supervisor/process/child_bodies.hpp"
#include "supervisor/workers/generation/kept_libraries.hpp"

namespace brood {

// One configuration, and what the children run that are forked under it.  Its workers keep it to their end, also when a
// rolling restart has brought another generation.
struct Generation {
  std::uint32_t number = 1;
  std::shared_ptr<const Config> config = {};
  ChildBodies bodies = {};
  std::shared_ptr<const KeptLibraries> libraries = {};  // none: nobody can be sure to load again what its workers run
  bool loads_kept = false;                              // its configuration names the libraries by their kept paths

  // What a child must keep that loads its libraries, where they no longer lie at their old paths.
  std::vector<int> descriptors_to_load_from() const {
    return loads_kept ? libraries->descriptors() : std::vector<int>();
  }
};

// Given by the program: what children run under this configuration.
using BodiesFor = std::function<ChildBodies(std::shared_ptr<const Config>)>;

}  // namespace brood
