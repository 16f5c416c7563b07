#pragma once

#include <chrono>
#include <optional>

#include "shared/periodic/cron_rule.hpp"
#include "shared/periodic/zone.hpp"

namespace brood {

// The first moment after `after` at which a rule says so in a zone; nullopt: none in forty years.
//
// Where clocks are put forward, a rule that names minute and hour comes at the first instant after the hour that is
// left out, once for all its times within; where they are put back, at the first of two equal times.  Other rules go by
// the time that passes: what is left out does not come, and what is shown twice comes twice.
std::optional<std::chrono::sys_seconds> next_tick(const CronRule& rule, const Zone& zone,
                                                  std::chrono::sys_seconds after);

}  // namespace brood
