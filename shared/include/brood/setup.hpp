#pragma once

#include <exception>
#include <functional>
#include <utility>
#include <vector>

#include <brood/context.hpp>

namespace brood {

using DeathHandler = std::function<void(const JobInfo&, const std::exception&)>;

// What a job library may register besides its jobs.  Define `void brood_setup(brood::Setup& setup)` beside BROOD_JOBS;
// every process that loads the library calls it once, before any job.
class Setup {
 public:
  explicit Setup(std::vector<DeathHandler>& death_handlers) : death_handlers_(&death_handlers) {}

  // Called for each job of this library that will not be tried again: exhausted, killed or discarded.  It runs in the
  // worker, or, after a crash, in a short-lived process of its own.
  void on_death(DeathHandler handler) { death_handlers_->push_back(std::move(handler)); }

 private:
  std::vector<DeathHandler>* death_handlers_;
};

}  // namespace brood
