#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <optional>
#include <utility>

namespace brood {

// A point on the calendar, as in payloads, scores and log lines.  It jumps when an operator sets the clock.
using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>;

// A point that only moves forward: every deadline and every interval is measured with it.
using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;

inline WallTime wall_now() { return std::chrono::system_clock::now(); }
inline SteadyTime steady_now() { return std::chrono::steady_clock::now(); }

// Seconds since the epoch, as Sidekiq's sorted-set scores count them.
inline double epoch_seconds(WallTime t) { return std::chrono::duration<double>(t.time_since_epoch()).count(); }

// A clock that, unlike the steady clock, goes on while the machine sleeps: for times that other machines measure, too.
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

// Limits a line of the log that any number of jobs or failures could cause to one a minute.
class OnceAMinute {
 public:
  // Counts one.  Returns how many came since the last line, this one included, if a line is due: the first, and then
  // one a minute.  Else 0.
  std::uint64_t note(SteadyTime now) {
    ++since_;
    if (last_ && now - *last_ < std::chrono::minutes(1)) return 0;
    last_ = now;
    return std::exchange(since_, 0);
  }

 private:
  std::uint64_t since_ = 0;
  std::optional<SteadyTime> last_;
};

}  // namespace brood
