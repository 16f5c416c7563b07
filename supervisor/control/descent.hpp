#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <vector>

namespace brood {

// Whether a process descends from this one.  What a job has started runs as our user and may speak to us like an
// operator, however many processes lie between it and the worker.
enum class Descent {
  stranger,    // it does not descend from this process
  descendant,  // it is a child of ours, or descends from one
  unknown,     // it has ended, its ancestors change faster than we can follow, or it hides as a descendant of ours does
};

// What can be seen of a process by one look.
struct Ancestor {
  enum class Sight {
    seen,
    hidden,      // it runs as our user and cannot be looked at: it wishes so, or is in another user namespace
    of_another,  // it runs as another user, which no job can become
    gone,
  };
  Sight sight = Sight::gone;
  pid_t parent = 0;  // where `sight` is seen
};

struct Family {
  std::function<Ancestor(pid_t)> look;
  // The children of one process; nullopt: it has gone, or hides.
  std::function<std::optional<std::vector<pid_t>>(pid_t)> children_of;
  // Children that this process had before it became a supervisor.  No job started them, nor anything that they start.
  std::function<bool(pid_t)> is_foreign;
};

// Pure.  Follows the parents of `pid` up to `self`.  When a parent hides, as a program does that the service manager
// starts in a sandbox, the tree below `self` is searched instead: if nobody in that tree hides and the process is not
// in it, the process is a stranger.
Descent descent_of(pid_t pid, pid_t self, const Family& family);

// As /proc has it.
Ancestor look_at(pid_t pid);
std::optional<std::vector<pid_t>> children_in_proc(pid_t pid);

}  // namespace brood
