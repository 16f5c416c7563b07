#pragma once

#include <sys/types.h>

#include <functional>

#include "supervisor/control/descent.hpp"
#include "supervisor/process/children.hpp"
#include "supervisor/process/strays.hpp"
#include "supervisor/workers/worker_pool.hpp"

namespace brood {

// Which processes are this supervisor's: its workers, its other children, and what jobs have started.
class OwnProcesses {
 public:
  OwnProcesses(EventLoop& loop, const WorkerPool& pool, const Children& children)
      : pool_(pool), children_(children), strays_(loop, [this](pid_t pid) { return is_child(pid); }) {}
  OwnProcesses(const OwnProcesses&) = delete;
  OwnProcesses& operator=(const OwnProcesses&) = delete;

  // The page's process is a child too, and speaks for its visitors, whom it has asked who they are.
  void trust(std::function<pid_t()> page) { page_ = std::move(page); }

  // Whether a job may be behind it.
  Descent descent_of(pid_t pid) const;

  // Children that nobody here has forked.
  Strays& strays() { return strays_; }

 private:
  bool is_child(pid_t pid) const { return pool_.is_worker(pid) || children_.is_one(pid); }

  const WorkerPool& pool_;
  const Children& children_;
  Strays strays_;
  std::function<pid_t()> page_ = [] { return 0; };
};

}  // namespace brood
