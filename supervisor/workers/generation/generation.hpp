#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "shared/config/config.hpp"
#include "supervisor/process/child_program.hpp"

namespace brood {

// One configuration, and what children run that are forked under it.  Its workers keep it to their end, also after a
// rolling restart has brought another generation.
struct Generation {
  std::uint32_t number = 1;
  std::shared_ptr<const Config> config = {};
  std::shared_ptr<ChildProgram> program = {};  // what its children run
  // Another program began it in this process.  What its workers did is forgotten, so no others are compared with them.
  bool is_of_another_program = false;
};

// Makes what children run under a configuration.
using ProgramOf = std::function<std::shared_ptr<ChildProgram>(std::shared_ptr<const Config>)>;

}  // namespace brood
