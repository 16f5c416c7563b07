#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "shared/periodic/cron_rule.hpp"
#include "shared/periodic/zone.hpp"

namespace brood {

// The first moment after `after` at which a rule fits in a zone; nullopt: none in forty years.
//
// When clocks are put forward, a rule with a minute and hour comes at the first instant after the skipped hour, once
// for all its times in that hour.  When they are put back, it comes at the first of two equal times.  Other rules
// follow the time that passes: skipped times do not come, and times that are shown twice come twice.
std::optional<std::chrono::sys_seconds> next_tick(const CronRule& rule, const Zone& zone,
                                                  std::chrono::sys_seconds after);

// The ticks that have come since the last one that was claimed.
struct DueTicks {
  std::vector<std::chrono::sys_seconds> claims;         // those whose jobs run now, the oldest first
  std::int64_t missed = 0;                              // how many older ones there are, at least
  std::optional<std::chrono::sys_seconds> passed = {};  // the last of the missed ones, if there is none to claim
};

// A tick is claimed if it is no older than `late_at_most`.  With `all`, all these ticks are claimed, 500 at a time;
// else only the newest.
DueTicks due_ticks(const CronRule& rule, const Zone& zone, std::chrono::sys_seconds last, std::chrono::sys_seconds now,
                   std::chrono::seconds late_at_most, bool all);

}  // namespace brood
