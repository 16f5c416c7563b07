#pragma once

#include "shared/config/config.hpp"
#include "shared/config/reading/config_section.hpp"

namespace brood {

// Reads the whole file, from its top level down, into `config`, which has its default capsule.
void read_root(const ConfigSection& root, Config& config);

}  // namespace brood
