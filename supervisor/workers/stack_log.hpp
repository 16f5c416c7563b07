#pragma once

#include <vector>

#include "shared/scoreboard/dump_request.hpp"
#include "supervisor/process/child_bodies.hpp"
#include "supervisor/process/children.hpp"

namespace brood {

// Has the stacks that workers were asked for written to the log: by a short-lived child, since finding the names of
// their functions takes time and reads files that may be anything.
class StackLog {
 public:
  StackLog(Children& children, const ChildBodies& bodies) : children_(children), bodies_(bodies) {}

  // Nothing while an earlier one is still being written.
  void write(const std::vector<DumpRequest>& asked);

 private:
  Children& children_;
  const ChildBodies& bodies_;
  Child child_;
};

}  // namespace brood
