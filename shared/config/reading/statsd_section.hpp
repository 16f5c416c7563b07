#pragma once

#include "shared/config/reading/config_section.hpp"
#include "shared/config/statsd_settings.hpp"

namespace brood {

// Reads [statsd].
void read_statsd(const ConfigSection& section, StatsdSettings& statsd);

}  // namespace brood
