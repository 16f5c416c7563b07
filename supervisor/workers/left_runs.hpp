#pragma once

#include <string>
#include <vector>

#include "shared/config/statsd_settings.hpp"
#include "shared/scoreboard/class_usage.hpp"

namespace brood {

// Tells a StatsD server, if `settings` name one, of the runs that a dead worker has left; the crashed one had that
// error. Waits for nobody.
void tell_left_runs(const StatsdSettings& settings, UsageTable& table, const std::vector<EndedRun>& left,
                    const std::string& error_class);

}  // namespace brood
