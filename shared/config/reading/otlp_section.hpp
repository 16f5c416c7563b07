#pragma once

#include "shared/config/otlp_settings.hpp"
#include "shared/config/reading/config_section.hpp"

namespace brood {

// Reads [otlp].  What a section leaves out the standard environment variables say; where there is no section, nobody
// asks them.
void read_otlp(const ConfigSection& section, OtlpSettings& otlp);

}  // namespace brood
