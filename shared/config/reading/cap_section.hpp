#pragma once

#include "shared/config/cap_settings.hpp"
#include "shared/config/reading/config_section.hpp"

namespace brood {

// Reads [limits]: the caps, each of which has its places shared out to so many shards.
std::vector<CapSettings> read_caps(const ConfigSection& root, std::int64_t shards);

}  // namespace brood
