#pragma once

#include <string>

#include "shared/scoreboard/class_usage.hpp"

namespace brood {

// A class or a queue as StatsD is told of it: what has no entry of its own is "others", so that no name that a client
// makes up becomes a series without end.
std::string statsd_class(const UsageTable& table, int class_index);
std::string statsd_queue(const UsageTable& table, int queue_index);

}  // namespace brood
