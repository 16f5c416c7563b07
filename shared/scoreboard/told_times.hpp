#pragma once

#include <optional>

#include "shared/base/paths.hpp"
#include "shared/base/time_unit.hpp"

namespace brood {

// In which unit the clients of this process, and those of the programs that it starts, are to write times: the variable
// BROOD_TIMESTAMPS, "seconds" or "milliseconds".  Workers and commands set it from their configuration; a process
// without one may set it too.
void tell_times(std::optional<TimeUnit> unit);  // nullopt: changes nothing

// Returns nullopt if the variable is not set or names no unit.
std::optional<TimeUnit> told_times(const Environment& environment = process_environment);

}  // namespace brood
