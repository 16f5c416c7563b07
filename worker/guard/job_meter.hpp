#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "shared/base/clock.hpp"
#include "shared/scoreboard/class_usage.hpp"

namespace brood {

// Measures the resources of each job of a worker: its elapsed time, the CPU time of the worker and of the children that
// it has waited for, and the highest resident memory of the worker, or of a program that it runs.
class JobMeter {
 public:
  JobMeter();

  void begin();
  // `waited_for_children` is false if the worker cannot have waited for a child since begin().
  JobUsage end(bool waited_for_children = true);

  // Notes the peak memory of a child that has ended.
  void note_child_peak(std::uint64_t kb) { child_peak_kb_ = std::max(child_peak_kb_, kb); }

  // Notes the use of a job in a process of its own, which is no child of this one.  `forkers_cpu` is the CPU time of
  // the process that forked it, over its whole life.
  void note_apart(std::chrono::microseconds cpu, std::uint64_t peak_kb, std::chrono::microseconds forkers_cpu) {
    apart_cpu_ += cpu;
    all_apart_cpu_ += cpu;
    forkers_cpu_ = forkers_cpu;
    note_child_peak(peak_kb);
  }

  // Returns the CPU time of this process from its start to the beginning of the job, plus all CPU time noted by
  // note_apart() until now.
  std::chrono::microseconds cpu_before() const { return own_cpu_before_ + all_apart_cpu_ + forkers_cpu_; }

 private:
  void forget_higher_peak();

  SteadyTime started_{};
  std::chrono::microseconds own_cpu_before_{}, children_cpu_{};
  std::chrono::microseconds apart_cpu_{};  // since begin()
  std::chrono::microseconds all_apart_cpu_{}, forkers_cpu_{};
  bool waited_for_children_ = true;  // it may have, since children_cpu_ was read
  std::uint64_t peak_kb_ = 0;        // the kernel's last value
  std::uint64_t child_peak_kb_ = 0;  // since begin()
  std::uint64_t known_peak_kb_ = 0;  // the peak when it was last found not worth a reset
};

}  // namespace brood
