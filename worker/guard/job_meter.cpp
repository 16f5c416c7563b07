#include "worker/guard/job_meter.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "shared/base/unique_fd.hpp"
#include "worker/guard/own_memory.hpp"

namespace brood {
namespace {

using std::chrono::microseconds;

// How far an earlier job must have raised the peak for a reset to be worth its cost.
constexpr std::uint64_t well_above_kb = 8 * 1024;

rusage usage_of(int who) {
  rusage used{};
  getrusage(who, &used);
  return used;
}

microseconds cpu_of(const rusage& used) {
  return microseconds((used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1'000'000 + used.ru_utime.tv_usec +
                      used.ru_stime.tv_usec);
}

std::uint64_t peak_kb_of(const rusage& used) { return static_cast<std::uint64_t>(std::max(used.ru_maxrss, 0L)); }

// Returns the CPU time that getrusage() returns too, at half the cost.
microseconds own_cpu() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return microseconds(used.tv_sec * 1'000'000 + used.tv_nsec / 1'000);
}

}  // namespace

JobMeter::JobMeter() : peak_kb_(peak_kb_of(usage_of(RUSAGE_SELF))), known_peak_kb_(peak_kb_) {}

void JobMeter::begin() {
  forget_higher_peak();
  child_peak_kb_ = 0;
  apart_cpu_ = {};
  started_ = steady_now();
  if (waited_for_children_) children_cpu_ = cpu_of(usage_of(RUSAGE_CHILDREN));
  own_cpu_before_ = own_cpu();
}

JobUsage JobMeter::end(bool waited_for_children) {
  const rusage own = usage_of(RUSAGE_SELF);
  waited_for_children_ = waited_for_children;
  const microseconds children =
      waited_for_children ? cpu_of(usage_of(RUSAGE_CHILDREN)) - children_cpu_ : microseconds(0);
  peak_kb_ = peak_kb_of(own);
  return {.cpu = cpu_of(own) - own_cpu_before_ + children + apart_cpu_,
          .wall = std::chrono::duration_cast<microseconds>(steady_now() - started_),
          .peak_rss_kb = std::max(peak_kb_, child_peak_kb_)};
}

// Resets the kernel's peak, which otherwise stays at the highest resident size of all earlier jobs.
void JobMeter::forget_higher_peak() {
  if (peak_kb_ < known_peak_kb_ + well_above_kb) return;
  const std::uint64_t resident_kb = read_own_memory().resident_bytes / 1024;
  if (peak_kb_ > resident_kb + well_above_kb) {
    const UniqueFd file(::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC));
    if (file && ::write(file.get(), "5", 1) == 1) peak_kb_ = peak_kb_of(usage_of(RUSAGE_SELF));
  }
  known_peak_kb_ = peak_kb_;
}

}  // namespace brood
