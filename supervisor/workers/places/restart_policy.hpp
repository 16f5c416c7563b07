#pragma once

#include <chrono>

#include "shared/base/clock.hpp"

namespace brood {

// How long a place rests before it is filled again.  Pure: tests drive it with invented times.
//
// After a failed start (a library does not load, a startup throws, a constructor crashes or hangs) the place rests
// exponentially longer, 100 ms to 30 s; the same after a worker that ends young without a job.  After a worker that had
// begun a job, or lived long enough, the place does not rest.
//
// A place whose workers crash one after the other, each within ten seconds at its first job, rests 10 ms to 250 ms from
// the 21st such crash on.  A single completed job ends that.
class RestartPolicy {
 public:
  static constexpr std::chrono::milliseconds first_rest{100};
  static constexpr std::chrono::milliseconds longest_rest{30'000};
  static constexpr std::chrono::seconds young{1};
  static constexpr std::chrono::seconds at_once{10};  // generous, as a fork and its report are slow on a busy machine
  static constexpr int free_crashes = 20;             // in a row, each at the worker's first job
  static constexpr std::chrono::milliseconds first_rest_of_crashes{10};
  static constexpr std::chrono::milliseconds longest_rest_of_crashes{250};

  // The end of a worker of this place.
  struct End {
    std::chrono::nanoseconds uptime{};
    bool was_ready = false;
    bool began_a_job = false;
    bool did_a_job = false;  // to the job's end, successful or not
    bool in_order = false;
  };
  // Returns how long the place must rest.
  std::chrono::milliseconds rest_after(const End& end);

  // The fork itself failed (EAGAIN, ENOMEM): the place rests as after a failed start.
  std::chrono::milliseconds rest_after_failed_fork();

  int failed_starts() const { return failed_starts_; }  // in a row

 private:
  std::chrono::milliseconds lengthen();
  int failed_starts_ = 0, crashes_ = 0;
};

}  // namespace brood
