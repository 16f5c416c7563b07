#pragma once

#include <chrono>
#include <ctime>

namespace brood {

// Unlike the steady clock, this one goes on while the machine sleeps: for times that another machine's clock judges
// too.
struct BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;

  // Async-signal-safe.
  static time_point now() noexcept {
    timespec time{};
    clock_gettime(CLOCK_BOOTTIME, &time);
    return time_point(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  }
};

using BootTime = BootClock::time_point;

inline BootTime boot_now() { return BootClock::now(); }

}  // namespace brood
