#include "supervisor/own_processes.hpp"

#include <unistd.h>

namespace brood {

Descent OwnProcesses::descent_of(pid_t pid) const {
  if (pid > 0 && pid == page_()) return Descent::stranger;
  if (is_child(pid)) return Descent::descendant;
  return brood::descent_of(pid, getpid(),
                           {.look = look_at, .children_of = children_in_proc, .is_foreign = [this](pid_t child) {
                              return strays_.is_foreign(child);
                            }});
}

}  // namespace brood
