#pragma once

#include "shared/config/config.hpp"
#include "shared/config/reading/config_section.hpp"

namespace brood {

// Reads [worker], and a capsule's own settings of it.
void read_worker(const ConfigSection& section, WorkerSettings& worker);

}  // namespace brood
