#pragma once

#include "shared/config/config.hpp"
#include "shared/config/reading/config_section.hpp"

namespace brood {

// Reads [on_error]: the program and the services.
void read_on_error(const ConfigSection& section, Config& config);

}  // namespace brood
