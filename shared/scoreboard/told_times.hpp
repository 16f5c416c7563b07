#pragma once

#include <optional>

#include "shared/base/paths.hpp"
#include "shared/base/time_unit.hpp"

namespace brood {

// Sets the unit in which clients write times, for this process and the programs that it starts: the variable
// BROOD_TIMESTAMPS, "seconds" or "milliseconds".  Workers and commands set it from their configuration.
void tell_times(std::optional<TimeUnit> unit);  // nullopt: changes nothing

// Returns nullopt if the variable is not set or names no unit.
std::optional<TimeUnit> told_times(const Environment& environment = process_environment);

}  // namespace brood
