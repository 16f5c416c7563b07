#pragma once

#include <chrono>
#include <set>
#include <string>
#include <string_view>

namespace brood {

// The classes whose jobs took less than a few milliseconds when this worker last ran one.  Only such jobs may run
// before the outcomes of earlier jobs are settled, so that neither a retry nor a lock waits for a long job.  Pure.
class ShortClasses {
 public:
  void ran(std::string_view job_class, std::chrono::nanoseconds took) {
    const bool is_short = took < long_run;
    if (job_class == last_ && is_short == last_was_short_) return;
    last_ = job_class;
    last_was_short_ = is_short;
    const auto known = short_.find(job_class);
    if (!is_short && known != short_.end()) short_.erase(known);
    if (!is_short || known != short_.end()) return;
    if (short_.size() >= most_classes) short_.clear();
    short_.emplace(job_class);
  }

  bool contain(std::string_view job_class) const { return short_.contains(job_class); }

 private:
  static constexpr std::chrono::nanoseconds long_run = std::chrono::milliseconds(5);
  static constexpr std::size_t most_classes = 256;  // names come from payloads

  std::set<std::string, std::less<>> short_;
  std::string last_;
  bool last_was_short_ = false;
};

}  // namespace brood
