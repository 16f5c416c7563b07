#pragma once

#include <sys/types.h>

#include <vector>

#include "shared/scoreboard/dump_request.hpp"
#include "supervisor/process/child_bodies.hpp"

namespace brood {

// Has the stacks that workers were asked for written to the log: by a short-lived child, since finding the names of
// their functions takes time and reads files that may be anything.
class StackLog {
 public:
  explicit StackLog(const ChildBodies& bodies) : bodies_(bodies) {}

  // Nothing while an earlier one is still being written.
  void write(const std::vector<DumpRequest>& asked);

  bool is_child(pid_t pid) const { return pid != 0 && pid == pid_; }
  // One of our children ended; false when `pid` was none of ours.
  bool reaped(pid_t pid);

 private:
  const ChildBodies& bodies_;
  pid_t pid_ = 0;
};

}  // namespace brood
