#pragma once

#include <cstdint>
#include <optional>

#include "shared/base/clock.hpp"

namespace brood {

// What one look at the kernel's figures found.
struct PressureReading {
  // Percent of the last ten seconds in which nobody got on for want of memory; nullopt: the kernel does not say.
  std::optional<double> stalled = {};
  bool killed = false;    // since the look before, the kernel killed for want of memory, or found nothing to reclaim
  bool at_limit = false;  // since then the cgroup was held back at its memory.high or memory.max
};

// How many workers may fetch, by how scarce memory is: half as many when nobody gets on for `limit` percent of the
// time or the kernel kills, and so on every ten seconds, but one at least; more again, step by step, when that share
// has been below half of it for ten seconds.  In between nothing changes, so that it does not go to and fro.  A cgroup
// that has reached its limit may only drop what is cached there: that alone is nothing, but halves the `limit`.  Pure.
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
