#pragma once

#include "shared/config/reading/config_section.hpp"
#include "shared/config/sandbox_settings.hpp"

namespace brood {

// Reads [classes.NAME.sandbox].
SandboxSettings read_sandbox(const ConfigSection& section);

}  // namespace brood
