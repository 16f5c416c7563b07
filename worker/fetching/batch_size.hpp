#pragma once

#include <algorithm>
#include <chrono>

namespace brood {

// How many jobs to fetch at a time.  More than one only while jobs are so short that a batch takes a few milliseconds,
// so that no job waits behind others while another worker is idle.  Pure.
class BatchSize {
 public:
  explicit BatchSize(int most) : most_(most) {}

  int want() const { return want_; }

  // Notes how long the jobs of one fetch took together, and the longest of them.
  void performed(int jobs, std::chrono::nanoseconds together, std::chrono::nanoseconds longest) {
    if (jobs <= 0) return;
    if (longest >= longest_batch) {
      want_ = 1;
      return;
    }
    const auto each = std::max(together / jobs, std::chrono::nanoseconds(1));
    const auto fit = static_cast<int>(std::clamp<std::chrono::nanoseconds::rep>(longest_batch / each, 1, most_));
    want_ = std::min(fit, 2 * want_);
  }

 private:
  static constexpr std::chrono::nanoseconds longest_batch = std::chrono::milliseconds(5);

  int most_;
  int want_ = 1;
};

}  // namespace brood
