#pragma once

#include <chrono>
#include <optional>

#include "shared/periodic/cron_rule.hpp"
#include "shared/periodic/zone.hpp"

namespace brood {

// The first moment after `after` at which a rule fits in a zone; nullopt: none in forty years.
//
// Where clocks are put forward, a rule with a minute and hour comes at the first instant after the hour that is left
// out, once for all its times in that hour.  Where they are put back, it comes at the first of two equal times.
// Other rules follow the time that passes: times that are left out do not come, and times that are shown twice come
// twice.
std::optional<std::chrono::sys_seconds> next_tick(const CronRule& rule, const Zone& zone,
                                                  std::chrono::sys_seconds after);

}  // namespace brood
