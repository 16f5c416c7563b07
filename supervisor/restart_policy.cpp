#include "supervisor/restart_policy.hpp"

#include <algorithm>

namespace brood {

std::chrono::milliseconds RestartPolicy::rest_after(std::chrono::nanoseconds uptime, bool began_a_job,
                                                    bool ended_in_order) {
  if (ended_in_order || began_a_job || uptime >= young) {
    failed_starts_ = 0;
    return std::chrono::milliseconds(0);
  }
  return lengthen();
}

std::chrono::milliseconds RestartPolicy::rest_after_failed_fork() { return lengthen(); }

std::chrono::milliseconds RestartPolicy::lengthen() {
  const int doublings = std::min(failed_starts_++, 16);
  return std::min(first_rest * (1 << doublings), longest_rest);
}

}  // namespace brood
