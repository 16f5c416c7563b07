#pragma once

#include "shared/config/config.hpp"
#include "shared/config/reading/config_section.hpp"

namespace brood {

// Reads [periodic]: its options, and a table of each name.  Zones are not looked at.
void read_periodic_jobs(const ConfigSection& section, Config& config);

}  // namespace brood
