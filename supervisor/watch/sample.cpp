#include "supervisor/watch/sample.hpp"

namespace brood::watch {

MachineLook look_at_machine(const std::string& directory) {
  MachineLook look;
  look.status = read_scoreboards(directory);
  for (const WorkerStatus& worker : look.status.workers) {
    if (worker.pid <= 0 || worker.state == "gone" || worker.state == "resting") continue;
    if (const auto use = use_of_worker(worker.pid, worker.job_pid)) look.use.emplace(worker.pid, *use);
  }
  look.at = steady_now();
  return look;
}

}  // namespace brood::watch
