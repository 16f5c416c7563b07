#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "shared/config/config.hpp"
#include "supervisor/process/child_bodies.hpp"
#include "supervisor/workers/generation/kept_libraries.hpp"

namespace brood {

// One configuration, and what children that are forked under it run.  Its workers go by it to their end, also when a
// rolling restart has brought another.
struct Generation {
  std::uint32_t number = 1;
  std::shared_ptr<const Config> config = {};
  ChildBodies bodies = {};
  std::shared_ptr<const KeptLibraries> libraries = {};  // none: what its workers run cannot be loaded again for sure
  bool loads_kept = false;                              // its configuration names them as they are kept
};

// The program's: what children run that go by this configuration.
using BodiesFor = std::function<ChildBodies(std::shared_ptr<const Config>)>;

}  // namespace brood
