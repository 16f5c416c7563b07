#pragma once

#include <algorithm>
#include <chrono>

#include "shared/base/clock.hpp"

namespace brood {

// When a job that runs on after its deadline is ended.  At the deadline the job itself sees that it should stop.  One
// grace later its worker is aborted, so that the worker's last words say where the job hung.  Another grace later the
// worker is killed with all that it started.  Pure.
class JobTimeout {
 public:
  explicit JobTimeout(std::chrono::milliseconds grace) : grace_(grace) {}

  SteadyTime abort_at(SteadyTime deadline) const { return deadline + grace_; }
  SteadyTime kill_at(SteadyTime aborted) const { return aborted + std::max(grace_, shortest_grace); }

  // How often to look for new deadlines: often enough to see each before its abort is due.
  std::chrono::milliseconds look_interval() const { return std::clamp(grace_, shortest_grace, longest_interval); }

 private:
  // Time for the last words to be written.
  static constexpr std::chrono::milliseconds shortest_grace{100};
  static constexpr std::chrono::milliseconds longest_interval{1000};

  std::chrono::milliseconds grace_;
};

}  // namespace brood
