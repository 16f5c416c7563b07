#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "shared/base/clock.hpp"

namespace brood {

// The timeout of an iterable job.  It counts from the last progress: from the beginning of the run, or from the end of
// an item.  Pure.
class ItemClock {
 public:
  using Timeout = std::optional<std::chrono::nanoseconds>;

  // A run begins.
  void begin(SteadyTime now, Timeout timeout) { *this = ItemClock{now, timeout}; }

  // Between two items; `left` is the time until the deadline.
  void next_item(SteadyTime now, Timeout left) {
    overran_ |= overruns(now, left);
    if (iterates_) longest_ = std::max<std::chrono::nanoseconds>(longest_, now - since_);
    iterates_ = true;
    since_ = now;
  }

  // Whether the run is of an iterable job.
  bool iterates() const { return iterates_; }
  // Whether an item, or the one under way, has taken longer than the timeout, and no more time was asked for.
  bool overran(SteadyTime now, Timeout left) const { return overran_ || overruns(now, left); }
  // How much time an item has when it begins; nullopt: the job has no timeout.
  Timeout timeout() const { return timeout_; }
  // Whether there is time for another item that takes as long as the longest one so far; true for the first.
  bool fits_another(Timeout left) const { return longest_.count() == 0 || !left || *left >= longest_; }

  ItemClock() = default;

 private:
  ItemClock(SteadyTime now, Timeout timeout) : timeout_(timeout), since_(now) {}
  bool overruns(SteadyTime now, Timeout left) const {
    return timeout_ && left && left->count() <= 0 && now - since_ >= *timeout_;
  }

  Timeout timeout_;
  SteadyTime since_{};
  std::chrono::nanoseconds longest_{};
  bool iterates_ = false, overran_ = false;
};

}  // namespace brood
