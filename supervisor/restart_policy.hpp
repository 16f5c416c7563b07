#pragma once

#include <chrono>

#include "shared/clock.hpp"

namespace brood {

// How long a slot rests before it is refilled.  A worker that had begun a job, or lived long enough, delays nobody; one
// that died young without a job (a library that does not load, a constructor that crashes) rests exponentially longer,
// 100 ms to 30 s.  Pure: tests drive it with invented times.
class RestartPolicy {
 public:
  static constexpr std::chrono::milliseconds first_rest{100};
  static constexpr std::chrono::milliseconds longest_rest{30'000};
  static constexpr std::chrono::seconds young{1};  // younger than this without a job counts as a failed start

  // A worker of this slot ended.  Returns how long the slot rests.
  std::chrono::milliseconds rest_after(std::chrono::nanoseconds uptime, bool began_a_job, bool ended_in_order);

  // The fork itself failed (EAGAIN, ENOMEM): the slot rests as after a failed start.
  std::chrono::milliseconds rest_after_failed_fork();

  int failed_starts() const { return failed_starts_; }  // in a row

 private:
  std::chrono::milliseconds lengthen();
  int failed_starts_ = 0;
};

}  // namespace brood
