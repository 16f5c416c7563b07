#pragma once

#include <map>
#include <string>

#include "shared/config/periodic_settings.hpp"

namespace brood {

// Checks that this machine has the zones of all these jobs; reads their data.  Throws ConfigError.
void check_zones(const std::map<std::string, PeriodicSettings>& jobs);

}  // namespace brood
