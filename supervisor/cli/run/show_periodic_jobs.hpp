#pragma once

#include "supervisor/schedule/registered_periodic_jobs.hpp"

namespace brood {

// Prints a line of each, with the time when it runs next.  Their rules and zones must be known to be good.
void show_periodic_jobs(const PeriodicJobSettings& jobs);

}  // namespace brood
