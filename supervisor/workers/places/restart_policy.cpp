#include "supervisor/workers/places/restart_policy.hpp"

#include <algorithm>

namespace brood {
namespace {

using std::chrono::milliseconds;

milliseconds doubled(milliseconds first, int times, milliseconds longest) {
  return std::min(first * (1 << std::min(times, 16)), longest);
}

}  // namespace

milliseconds RestartPolicy::rest_after(const End& end) {
  const bool is_young = end.uptime < young;
  if (!end.in_order && !end.began_a_job && (is_young || !end.was_ready)) return lengthen();
  failed_starts_ = 0;
  const bool crashed_at_once = !end.in_order && end.uptime < at_once && end.began_a_job && !end.did_a_job;
  crashes_ = crashed_at_once ? crashes_ + 1 : 0;
  if (crashes_ <= free_crashes) return milliseconds(0);
  return doubled(first_rest_of_crashes, crashes_ - free_crashes - 1, longest_rest_of_crashes);
}

milliseconds RestartPolicy::rest_after_failed_fork() { return lengthen(); }

milliseconds RestartPolicy::lengthen() { return doubled(first_rest, failed_starts_++, longest_rest); }

}  // namespace brood
