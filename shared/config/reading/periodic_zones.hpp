#pragma once

#include <map>
#include <string>

#include "shared/config/periodic_settings.hpp"

namespace brood {

// That this machine knows the zones of all these jobs; reads their data.  Throws ConfigError.
void check_zones(const std::map<std::string, PeriodicSettings>& jobs);

}  // namespace brood
