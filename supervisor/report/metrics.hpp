#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/scoreboard/class_usage.hpp"

namespace brood {

// What Sidekiq's metrics have yet to be told of each class: the counters in shared memory as differences.  A job can
// scribble over those, so nothing implausible is believed, and there are never more names than the table has room for.
// Pure.
class Metrics {
 public:
  struct Known {
    std::string job_class;
    ClassTotals seen;  // when it was last observed
    ClassTotals unflushed;
    std::uint64_t peak_rss_kb = 0;  // unflushed
  };

  // Takes over what the program before has observed and not told.  `same_memory` false: the counters have begun anew.
  void resume(const std::vector<Known>& left, bool same_memory, SteadyTime now);

  // Counts what each class has gained; one that is seen for the first time began at zero.  A class whose counters ran
  // backwards, or faster than any worker could, gains nothing.
  void observe(const std::vector<ClassUsage>& usage, SteadyTime now);

  // By name, at most so many.
  std::vector<ClassUsage> unflushed(std::size_t most) const;

  // These were applied, or may have been: a count whose fate is unknown is not repeated.
  void flushed(const std::vector<ClassUsage>& told);
  // Drops what is unflushed: nobody wants to be told.
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
