#pragma once

#include <algorithm>
#include <cstddef>

#include "shared/base/clock.hpp"

namespace brood {

// How much one worker's jobs may print into the log: bursts of 5,000 lines or 1 MB, and 1,000 lines or 256 KB a second
// in the long run.  A job that prints more would drown all other lines and keep the supervisor busy.
class TokenBucket {
 public:
  static constexpr double lines_a_second = 1'000, most_lines = 5'000;
  static constexpr double bytes_a_second = 256 * 1024, most_bytes = 1024 * 1024;

  explicit TokenBucket(SteadyTime now) : counted_at_(now) {}

  // Takes one line's share; returns false if nothing is left.
  bool admit(std::size_t bytes, SteadyTime now) {
    const double seconds = std::max(0.0, std::chrono::duration<double>(now - counted_at_).count());
    counted_at_ = now;
    lines_ = std::min(most_lines, lines_ + seconds * lines_a_second);
    bytes_ = std::min(most_bytes, bytes_ + seconds * bytes_a_second);
    if (lines_ < 1 || bytes_ <= 0) return false;
    lines_ -= 1;
    bytes_ -= static_cast<double>(bytes);
    return true;
  }

 private:
  SteadyTime counted_at_;
  double lines_ = most_lines, bytes_ = most_bytes;
};

}  // namespace brood
