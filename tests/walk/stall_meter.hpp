#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <thread>

namespace brood::walk {

// Measures how long the machine let a process wait that wanted to run: a thread sleeps for short times, and notes by
// how much it overslept.  On an overloaded machine the processes of brood wait as long.
class StallMeter {
 public:
  std::int64_t longest_ns() const { return longest_ns_.load(); }

 private:
  void measure(const std::stop_token& end) {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds nap{20};
    for (Clock::time_point before = Clock::now(); !end.stop_requested(); before = Clock::now()) {
      std::this_thread::sleep_for(nap);
      const std::chrono::nanoseconds over = Clock::now() - before - nap;
      longest_ns_ = std::max(longest_ns_.load(), std::int64_t{over.count()});
    }
  }

  std::atomic<std::int64_t> longest_ns_{0};
  std::jthread thread_{[this](const std::stop_token& end) { measure(end); }};
};

}  // namespace brood::walk
