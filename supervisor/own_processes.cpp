#include "supervisor/own_processes.hpp"

namespace brood {

bool OwnProcesses::is_jobs(pid_t sender) const {
  if (sender <= 0) return false;
  if (is_child(sender)) return true;
  const auto limit = file_locks_of(sender);
  return limit && *limit < own_limit_;
}

}  // namespace brood
