#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/scoreboard/class_usage.hpp"

namespace brood {

// What is still to be added to Sidekiq's metrics of each class: how much the counters in shared memory have grown.  A
// job can scribble over the counters, so nothing implausible is believed, and there are never more names than the table
// has room for.  Pure.
class Metrics {
 public:
  struct Known {
    std::string job_class;
    ClassTotals seen;  // the counters when they were last observed
    ClassTotals unflushed;
    std::uint64_t peak_rss_kb = 0;  // unflushed
  };

  // Takes over what the program before us has observed and not yet sent.  `same_memory` false: the counters have begun
  // anew.
  void resume(const std::vector<Known>& left, bool same_memory, SteadyTime now);

  // Counts how much each class's counters have grown; a class that is seen for the first time began at zero.  A class
  // whose counters ran backwards, or faster than any worker could, gains nothing.
  void observe(const std::vector<ClassUsage>& usage, SteadyTime now);

  // In the order of their names, `most` at the most.
  std::vector<ClassUsage> unflushed(std::size_t most) const;

  // These were applied, or may have been: a count whose fate is unknown is not repeated.
  void flushed(const std::vector<ClassUsage>& told);
  // Drops what is unflushed: nobody wants it.
  void forget_unflushed();

  std::vector<Known> known() const;

 private:
  struct Entry {
    Known known;
    SteadyTime at;
  };
  std::map<std::string, Entry> classes_;
};

}  // namespace brood
