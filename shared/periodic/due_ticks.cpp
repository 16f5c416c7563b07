#include "shared/periodic/due_ticks.hpp"

#include <algorithm>

#include "shared/periodic/next_tick.hpp"

namespace brood {
namespace {

using std::chrono::sys_seconds;

constexpr std::size_t most_claims = 500;
// So many old ticks are counted one by one; then half of the time that is left is passed over, and again.
constexpr std::int64_t counted_at_once = 1'000;

}  // namespace

DueTicks due_ticks(const CronRule& rule, const Zone& zone, sys_seconds last, sys_seconds now,
                   std::chrono::seconds late_at_most, bool all) {
  DueTicks due;
  const sys_seconds oldest = now - late_at_most, target = all ? std::min(oldest, now) : now;
  std::optional<sys_seconds> newest_old;
  while (const auto tick = next_tick(rule, zone, last)) {
    if (*tick > now) break;
    last = *tick;
    if (all && *tick >= oldest) {
      due.claims.push_back(*tick);
      if (due.claims.size() == most_claims) break;
      continue;
    }
    newest_old = *tick;
    if (++due.missed % counted_at_once == 0 && target > last) last += (target - last) / 2;
  }
  if (!all && newest_old && *newest_old >= oldest) {
    due.claims.push_back(*newest_old);
    --due.missed;
  }
  if (due.claims.empty()) due.passed = newest_old;
  return due;
}

}  // namespace brood
