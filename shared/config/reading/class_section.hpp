#pragma once

#include <string>

#include "shared/config/config.hpp"
#include "shared/config/reading/config_section.hpp"

namespace brood {

// Reads [classes.NAME].
void read_class(const std::string& name, const setting::Place& at, const ConfigSection& section,
                ClassSettings& job_class);

}  // namespace brood
