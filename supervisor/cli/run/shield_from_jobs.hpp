#pragma once

#include "shared/config/config.hpp"

namespace brood {

// Keeps jobs, which run as the same user, from the supervisor's memory.  Warns where they can signal it.
void shield_from_jobs(const Config& config);

}  // namespace brood
