#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "shared/periodic/cron_rule.hpp"
#include "shared/periodic/zone.hpp"

namespace brood {

// The ticks since the last claimed one, divided into those that push jobs and those that are missed.
struct DueTicks {
  std::vector<std::chrono::sys_seconds> claims;         // whose jobs run now, the oldest first
  std::int64_t missed = 0;                              // that are older; at least so many
  std::optional<std::chrono::sys_seconds> passed = {};  // the last of these, where there is none to claim
};

// A tick is claimed when it is no older than `late_at_most`: all such, 500 at a time, or the newest alone.
DueTicks due_ticks(const CronRule& rule, const Zone& zone, std::chrono::sys_seconds last, std::chrono::sys_seconds now,
                   std::chrono::seconds late_at_most, bool all);

}  // namespace brood
