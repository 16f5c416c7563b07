#pragma once

#include "shared/config/cap_settings.hpp"
#include "shared/config/reading/config_section.hpp"

namespace brood {

// Reads [limits], the caps.  Each must have a place for each of `shards` shards.
std::vector<CapSettings> read_caps(const ConfigSection& root, std::int64_t shards);

}  // namespace brood
