#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <functional>
#include <vector>

#include "supervisor/process/exit_status.hpp"

namespace brood {

// Which children of this process have ended, including inherited ones.
class EndedChildren {
 public:
  struct One {
    pid_t pid;
    ExitStatus status;
    rusage used;
  };

  // Reaps them, the largest first: if the kernel killed one for lack of memory, it was the largest.  If `leads_group`
  // is true of a child, first kills the rest of its process group.  Reaps a bounded number, so that a job's fork bomb
  // does not hold up the loop; more() returns whether some are left for the next turn.
  std::vector<One> reap(const std::function<bool(pid_t)>& leads_group);
  bool more() const { return more_; }

 private:
  bool more_ = false;
};

}  // namespace brood
