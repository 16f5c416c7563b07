#include "supervisor/workers/predecessors.hpp"

#include <csignal>

#include "shared/base/log.hpp"
#include "shared/store/worker_field.hpp"
#include "supervisor/upgrade/handover_file.hpp"

namespace brood {

Predecessors::Predecessors(const std::vector<Handover::Worker>& workers) {
  for (const Handover::Worker& worker : workers) {
    left_.emplace(worker.pid, One{worker_field(worker.slot, worker.incarnation), own_descriptor(worker.control),
                                  own_descriptor(worker.output)});
    kill(worker.pid, SIGTERM);
  }
}

bool Predecessors::reaped(pid_t pid) {
  if (left_.erase(pid) == 0) return false;
  log::info("predecessor_ended", {{"worker_pid", pid}, {"left", left_.size()}});
  return true;
}

void Predecessors::kill_all() const {
  for (const auto& [pid, one] : left_) {
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
  }
}

std::set<std::string> Predecessors::fields() const {
  std::set<std::string> all;
  for (const auto& [pid, one] : left_) all.insert(one.field);
  return all;
}

}  // namespace brood
