#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/clock.hpp"
#include "supervisor/phase.hpp"
#include "supervisor/process/service_notify.hpp"
#include "supervisor/readiness.hpp"
#include "supervisor/shutdown.hpp"

namespace brood {

// Where a supervisor is between its start and its end: its phase, whether it is ready, its shutdown and its exit
// status.  Reports this to the service manager.
class Phases {
 public:
  // `was_ready`: the previous program in this process has already reported that it is ready.
  Phases(EventLoop& loop, std::string identity, const WorkerPool& pool, const Shards& shards, bool was_ready);

  ServiceNotify service;
  Readiness readiness;
  Shutdown shutdown;

  Phase now() const { return phase_; }
  // Whether vacant slots are filled: while running or quiet.
  bool may_spawn() const { return phase_ == Phase::running || phase_ == Phase::quiet; }
  // 0 unless the supervisor stops because of an error.
  int exit_status() const { return exit_status_; }

  // Changes the phase by next_phase().
  void order(Order order);
  // Stops, with this exit status.
  void fail(int exit_status);
  // The phases that were entered since the last take_entered(), in order.
  std::vector<Phase> take_entered() { return std::exchange(entered_, {}); }

  // Workers that still run after `timeout` from now are killed.
  void limit_stop(std::chrono::nanoseconds timeout) { stop_deadline_ = steady_now() + timeout; }

  // Called each turn.
  void do_what_is_due(SteadyTime now);
  // When do_what_is_due() has something to do; nullopt if never.
  std::optional<SteadyTime> next_deadline() const;

 private:
  bool waits_for_workers() const { return phase_ == Phase::stopping && pool_.occupied() > 0; }

  const WorkerPool& pool_;
  Phase phase_ = Phase::running;
  std::vector<Phase> entered_;
  int exit_status_ = 0;
  SteadyTime stop_deadline_{}, next_watchdog_{};
};

}  // namespace brood
