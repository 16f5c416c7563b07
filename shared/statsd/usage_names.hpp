#pragma once

#include <string>

#include "shared/scoreboard/class_usage.hpp"

namespace brood {

// The name of a class or a queue for StatsD.  Without an entry of its own it is "others", so that names made up by a
// client do not make series without end.
std::string statsd_class(const UsageTable& table, int class_index);
std::string statsd_queue(const UsageTable& table, int queue_index);

}  // namespace brood
