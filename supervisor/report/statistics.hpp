#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "shared/base/clock.hpp"

namespace brood {

// What is still to be added to Sidekiq's counters: how much the workers' counters in shared memory have grown, and the
// failures that only the supervisor saw.  A job can scribble over the workers' counters, so nothing implausible is
// believed.  Pure.
class Statistics {
 public:
  struct Counts {
    std::uint64_t processed = 0, failed = 0;
    bool empty() const { return processed == 0 && failed == 0; }
  };

  // Takes the counters of a slot as they are and counts nothing: those of an adopted scoreboard, which have been
  // flushed already.
  void start_from(int slot, Counts counters, SteadyTime now);

  // Counts what the slot's counters have gained.  A slot seen for the first time began at zero.  Counters that ran
  // backwards, or faster than any worker could, count nothing and become the new base.
  void observe(int slot, Counts counters, SteadyTime now);

  // Counts a failure that no worker lived to count: a crash, a timeout, a kill.  The worker's counter of processed jobs
  // has that job already.
  void count_failure() { ++unflushed_.failed; }

  Counts unflushed() const { return unflushed_; }
  // For a scoreboard that was adopted: what its slots had gained and the program before us had not sent yet.
  void add_unflushed(Counts counts);

  // The counters of each slot as they were observed last.
  std::map<int, Counts> observed() const;

  // These were applied, or may have been: a count whose fate is unknown is not repeated.
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
