#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "shared/base/clock.hpp"

namespace brood {

// How long to leave a queue alone whose doorbell has rung: a worker is on its way to the job, and a peek at once would
// find the same job.  Each time the job still lies there the pause doubles, from 1 ms up to 100 ms.
class QueueBackoff {
 public:
  // `job` lay at the tail.
  void rang(const std::string& queue, std::string_view job, SteadyTime now);
  void found_empty(const std::string& queue) { backoffs_.erase(queue); }

  // When the queue may be asked again; `now` or earlier: at once.
  SteadyTime until(const std::string& queue) const;

 private:
  struct Backoff {
    std::size_t job = 0;  // a hash of it
    std::chrono::milliseconds pause{0};
    SteadyTime until{};
  };
  std::map<std::string, Backoff> backoffs_;
};

}  // namespace brood
