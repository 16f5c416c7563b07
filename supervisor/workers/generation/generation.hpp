#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "shared/config/config.hpp"
#include "supervisor/process/child_program.hpp"

namespace brood {

// One configuration with the program of its children.  A worker keeps its generation to its end, even after a rolling
// restart.
struct Generation {
  std::uint32_t number = 1;
  std::shared_ptr<const Config> config = {};
  std::shared_ptr<ChildProgram> program = {};  // the program of its children
  // Begun by another program in this process.  Its workers' results are lost, so new ones are not compared with them.
  bool is_of_another_program = false;
};

// Makes the program of the children under a configuration.
using ProgramOf = std::function<std::shared_ptr<ChildProgram>(std::shared_ptr<const Config>)>;

}  // namespace brood
