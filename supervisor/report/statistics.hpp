#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "shared/base/clock.hpp"

namespace brood {

// The growth of the workers' counters in shared memory that is still to be added to Sidekiq's counters, and the
// failures that only the supervisor saw.  A job can overwrite the workers' counters, so implausible growth is ignored.
// Pure.
class Statistics {
 public:
  struct Counts {
    std::uint64_t processed = 0, failed = 0;
    bool empty() const { return processed == 0 && failed == 0; }
  };

  // Takes the present counters of a slot and counts nothing: for an adopted scoreboard, whose counters have been
  // flushed already.
  void start_from(int slot, Counts counters, SteadyTime now);

  // Counts the growth of the slot's counters.  A slot that is seen for the first time began at zero.  Counters that ran
  // backwards, or faster than any worker could, count nothing and become the new base.
  void observe(int slot, Counts counters, SteadyTime now);

  // Counts a failure that its worker did not survive: a crash, a timeout, a kill.  The worker's counter of processed
  // jobs includes that job already.
  void count_failure() { ++unflushed_.failed; }

  Counts unflushed() const { return unflushed_; }
  // For an adopted scoreboard: adds what its slots had gained and the previous program had not sent.
  void add_unflushed(Counts counts);

  // The counters of each slot at the last observation.
  std::map<int, Counts> observed() const;

  // Marks these as sent.  They may have been applied: a count with unknown outcome is not repeated.
  void flushed(Counts counts);

 private:
  struct Base {
    Counts counters;
    SteadyTime at;
  };
  std::map<int, Base> bases_;
  Counts unflushed_;
};

// The day of Sidekiq's daily counters: YYYY-MM-DD, UTC.
std::string statistics_day(WallTime now);

}  // namespace brood
