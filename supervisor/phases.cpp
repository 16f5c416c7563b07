#include "supervisor/phases.hpp"

#include <algorithm>

#include "shared/base/log.hpp"

namespace brood {

Phases::Phases(EventLoop& loop, std::string identity, const WorkerPool& pool, const Shards& shards, bool was_ready)
    : readiness(pool, shards, service, was_ready), shutdown(loop, std::move(identity), shards), pool_(pool) {}

void Phases::order(Order order) {
  const Phase before = phase_;
  phase_ = next_phase(phase_, order);
  if (phase_ == before) return;
  log::info("phase", {{"from", name_of(before)}, {"to", name_of(phase_)}});
  entered_.push_back(phase_);
}

void Phases::fail(int exit_status) {
  exit_status_ = exit_status;
  order(Order::stop);
}

void Phases::do_what_is_due(SteadyTime now) {
  if (waits_for_workers() && now >= stop_deadline_) order(Order::deadline_passed);
  if (service.watchdog_interval() && now >= next_watchdog_) {
    service.watchdog();
    next_watchdog_ = now + *service.watchdog_interval();
  }
}

std::optional<SteadyTime> Phases::next_deadline() const {
  std::optional<SteadyTime> next;
  if (waits_for_workers()) next = stop_deadline_;
  if (service.watchdog_interval()) next = std::min(next.value_or(next_watchdog_), next_watchdog_);
  return next;
}

}  // namespace brood
