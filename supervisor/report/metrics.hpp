#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/scoreboard/class_usage.hpp"

namespace brood {

// The growth of the counters in shared memory that is still to be added to Sidekiq's metrics of each class.  Pure.
//
// A job can overwrite the counters, so implausible growth is ignored, and there are never more names than the table has
// room for.
class Metrics {
 public:
  struct Known {
    std::string job_class;
    ClassTotals seen;  // the counters at the last observation
    ClassTotals unflushed;
    std::uint64_t peak_rss_kb = 0;  // unflushed
  };

  // Takes over what the previous program has observed and not sent yet.  `same_memory` is false if the counters have
  // begun anew.
  void resume(const std::vector<Known>& left, bool same_memory, SteadyTime now);

  // Counts how much each class's counters have grown; a new class began at zero.  A class whose counters ran backwards,
  // or faster than any worker could run, gains nothing.
  void observe(const std::vector<ClassUsage>& usage, SteadyTime now);

  // The first `most` in the order of their names.
  std::vector<ClassUsage> unflushed(std::size_t most) const;

  // Marks these as sent.  They may have been applied: a count with unknown outcome is not repeated.
  void flushed(const std::vector<ClassUsage>& told);
  // Drops what is unflushed: metrics are not wanted.
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
