#pragma once

#include "supervisor/schedule/registered_periodic_jobs.hpp"

namespace brood {

// Prints a line for each, with the time of its next run.  Their rules and zones must have been checked.
void show_periodic_jobs(const PeriodicJobSettings& jobs);

}  // namespace brood
