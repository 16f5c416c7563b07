#include "shared/periodic/next_tick.hpp"

#include <algorithm>

namespace brood {
namespace {

using namespace std::chrono;

constexpr auto longest_look = days(366 * 41);

local_seconds shown(sys_seconds moment, seconds ahead) { return local_seconds(moment.time_since_epoch() + ahead); }

}  // namespace

std::optional<sys_seconds> next_tick(const CronRule& rule, const Zone& zone, sys_seconds after) {
  const sys_seconds begin = after + seconds(1);
  for (sys_seconds from = begin; from < begin + longest_look;) {
    const Zone::Span span = zone.around(from);
    const seconds ahead_before = zone.around(span.begin - seconds(1)).ahead;
    local_seconds first = shown(from, span.ahead);
    if (rule.names_time) {
      const local_seconds left = shown(span.begin, ahead_before);  // what the clock would have shown next
      if (from == span.begin && rule.first_within(left, shown(span.begin, span.ahead))) return from;
      first = std::max(first, left);  // times before were shown already
    }
    if (const auto found = rule.first_within(first, shown(span.end, span.ahead)))
      return sys_seconds(found->time_since_epoch() - span.ahead);
    if (span.end <= from) return std::nullopt;
    from = span.end;
  }
  return std::nullopt;
}

namespace {

using std::chrono::sys_seconds;

constexpr std::size_t most_claims = 500;
// How many old ticks are counted one by one.  Then half of the remaining time is skipped, and the next ones are
// counted.
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
