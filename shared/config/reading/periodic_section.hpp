#pragma once

#include "shared/config/config.hpp"
#include "shared/config/reading/config_section.hpp"

namespace brood {

// Reads [periodic]: its options, and a table for each job.  Does not check time zones: see check_zones().
void read_periodic_jobs(const ConfigSection& section, Config& config);

}  // namespace brood
