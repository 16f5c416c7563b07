#pragma once

#include "shared/classes/published_classes.hpp"
#include "shared/config/periodic_settings.hpp"
#include "supervisor/schedule/registered_periodic_jobs.hpp"

namespace brood {

// The jobs, with the options of their classes where their rules set none: queue, retries, expiry, tags and so on.  A
// tick takes no lock and encrypts nothing, so a class is unique or encrypts only where it is pushed.  Pure.
PeriodicJobSettings by_class(PeriodicJobSettings jobs, const PublishedClasses& classes);

}  // namespace brood
