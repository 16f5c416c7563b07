#pragma once

#include <sys/types.h>

#include "shared/base/job_mark.hpp"
#include "supervisor/control/asker.hpp"
#include "supervisor/process/children.hpp"
#include "supervisor/process/strays.hpp"
#include "supervisor/workers/worker_pool.hpp"

namespace brood {

// Which processes belong to jobs: this supervisor's workers and other children, and what jobs of any supervisor have
// started.
class OwnProcesses {
 public:
  OwnProcesses(EventLoop& loop, const WorkerPool& pool, const Children& children)
      : pool_(pool),
        children_(children),
        own_limit_(file_locks_of(0).value_or(0)),
        strays_(loop, [this](pid_t pid) { return is_child(pid); }) {}
  OwnProcesses(const OwnProcesses&) = delete;
  OwnProcesses& operator=(const OwnProcesses&) = delete;

  Standing standing_of(const Asker& asker) const { return brood::standing_of(asker, own_limit_); }

  // Whether a signal from this pid comes from a job.  Returns false if the sender has ended, as kill(1) has.
  bool is_jobs(pid_t sender) const {
    if (sender <= 0) return false;
    if (is_child(sender)) return true;
    const auto limit = file_locks_of(sender);
    return limit && *limit < own_limit_;
  }

  // Children that this process has not forked.
  Strays& strays() { return strays_; }

 private:
  bool is_child(pid_t pid) const { return pool_.is_worker(pid) || children_.is_one(pid); }

  const WorkerPool& pool_;
  const Children& children_;
  const FileLocks own_limit_;  // read once: a job of another supervisor of this user may lower it
  Strays strays_;
};

}  // namespace brood
