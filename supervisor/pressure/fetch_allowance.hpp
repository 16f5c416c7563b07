#pragma once

#include <cstdint>
#include <optional>

#include "shared/base/clock.hpp"

namespace brood {

// What one look at the kernel's figures found.
struct PressureReading {
  // Percent of the last ten seconds in which no process made progress for want of memory; nullopt: the kernel does not
  // say.
  std::optional<double> stalled = {};
  bool killed = false;    // since the last look, the kernel killed for want of memory, or found nothing to reclaim
  bool at_limit = false;  // since the last look, the cgroup was held back at its memory.high or memory.max
};

// How many workers may fetch while memory is scarce.  Pure.  When no process makes progress for `limit` percent of the
// time, or when the kernel kills, the number is halved, and halved again every ten seconds, down to one.  It rises
// again step by step once that percentage has been below half of `limit` for ten seconds.  In between nothing changes,
// so that the number does not swing.  A cgroup at its own limit may only be dropping its cache: that alone changes
// nothing, but it halves `limit`.
class FetchAllowance {
 public:
  static constexpr std::chrono::seconds between_steps{10};
  static constexpr std::chrono::seconds after_a_kill{2};  // the next step may come so soon

  // In percent; 0: all may always fetch.
  void set_limit(int percent);

  // Asked now and then; `workers` is how many there are.  Nullopt: all of them may.
  std::optional<int> allowed(const PressureReading& reading, int workers, SteadyTime now);

 private:
  double limit_ = 0;
  std::optional<int> allowed_;
  SteadyTime last_step_{}, last_pressure_{};
};

}  // namespace brood
