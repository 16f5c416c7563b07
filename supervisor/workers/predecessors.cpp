#include "supervisor/workers/predecessors.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "shared/base/log.hpp"
#include "shared/store/worker_field.hpp"
#include "supervisor/upgrade/handover_file.hpp"

namespace brood {

Predecessors::Predecessors(EventLoop& loop, const std::vector<Handover::Worker>& workers) {
  for (const Handover::Worker& worker : workers) {
    One& one = left_[worker.pid];  // its address does not change
    one.field = worker_field(worker.slot, worker.incarnation);
    one.control = own_descriptor(worker.control);
    one.output = own_descriptor(worker.output);
    if (one.output)
      one.drain = std::make_unique<FdWatch>(loop, one.output.get(), FdWatch::readable, [&one](int) {
        char bytes[64 * 1024];
        const ssize_t got = read(one.output.get(), bytes, sizeof bytes);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) one.drain.reset();
      });
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
