#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <functional>
#include <vector>

#include "supervisor/process/exit_status.hpp"

namespace brood {

// Which children of this process have ended, those too that it has inherited.
class EndedChildren {
 public:
  struct One {
    pid_t pid;
    ExitStatus status;
    rusage used;
  };

  // Reaps them, the largest first: where the kernel has killed one for want of memory, it was the largest.  If
  // `leads_group` says so of one, what is left of its process group is killed before.  A job's fork bomb must not hold
  // up the loop: of very many, some are left for the next turn.
  std::vector<One> reap(const std::function<bool(pid_t)>& leads_group);
  // Some are left.
  bool more() const { return more_; }

 private:
  bool more_ = false;
};

}  // namespace brood
