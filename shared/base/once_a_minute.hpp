#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "shared/base/clock.hpp"

namespace brood {

// For a line of the log that any number of jobs or failures could ask for.
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
