#pragma once

#include <cstdint>
#include <optional>

#include "shared/base/clock.hpp"

namespace brood {

// One reading of the kernel's memory figures.
struct PressureReading {
  // Percent of the last ten seconds in which no process made progress for lack of memory; nullopt if the kernel does
  // not report it.
  std::optional<double> stalled = {};
  bool killed = false;    // since the last reading the kernel killed for lack of memory, or found nothing to reclaim
  bool at_limit = false;  // since the last reading the cgroup was throttled at its memory.high or memory.max
};

// Decides how many workers may fetch while memory is scarce.  Pure.
//
// When no process makes progress for `limit` percent of the time, or when the kernel kills, the number is halved, and
// halved again every ten seconds, down to one.  Once that percentage has been below half of `limit` for ten seconds,
// the number rises step by step.  In between it stays, so that it does not swing.  A cgroup at its own limit may only
// be dropping its cache: that alone changes nothing, but it halves `limit`.
class FetchAllowance {
 public:
  static constexpr std::chrono::seconds between_steps{10};
  static constexpr std::chrono::seconds after_a_kill{2};  // the shortest time to the next step

  // In percent; 0: all workers may always fetch.
  void set_limit(int percent);

  // Called once a second with the present number of `workers`.  Returns nullopt if all of them may fetch.
  std::optional<int> allowed(const PressureReading& reading, int workers, SteadyTime now);

 private:
  double limit_ = 0;
  std::optional<int> allowed_;
  SteadyTime last_step_{}, last_pressure_{};
};

}  // namespace brood
