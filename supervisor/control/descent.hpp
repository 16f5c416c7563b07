#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <vector>

namespace brood {

// Whether a process comes from this one: whatever a job has started runs as our user and may speak to us like an
// operator, however many processes lie between it and its worker.
enum class Descent {
  stranger,    // it comes from somewhere else
  descendant,  // of a child of ours
  unknown,     // it has ended, its ancestors change faster than they can be followed, or it hides as one of ours does
};

// What can be seen of a process by one look.
struct Ancestor {
  enum class Sight {
    seen,
    hidden,      // it is there, of our own user, and not to be seen: by its own wish, or in another user namespace
    of_another,  // of another user, which no job becomes
    gone,
  };
  Sight sight = Sight::gone;
  pid_t parent = 0;  // of one that is seen
};

struct Family {
  std::function<Ancestor(pid_t)> look;
  // The children of one process; nullopt: it has gone, or hides.
  std::function<std::optional<std::vector<pid_t>>(pid_t)> children_of;
  // The children of ours that were there before we were a supervisor: they are no jobs', and neither is what they
  // start.
  std::function<bool(pid_t)> is_foreign;
};

// Pure: follows the parents of `pid` up to `self`.  Where one of them hides, as what the service manager starts in a
// sandbox of its own does, all that comes from `self` is gone through instead: if nobody there hides and it is not
// among them, it is a stranger.
Descent descent_of(pid_t pid, pid_t self, const Family& family);

// As /proc has it.
Ancestor look_at(pid_t pid);
std::optional<std::vector<pid_t>> children_in_proc(pid_t pid);

}  // namespace brood
