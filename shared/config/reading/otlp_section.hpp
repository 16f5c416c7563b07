#pragma once

#include "shared/config/otlp_settings.hpp"
#include "shared/config/reading/config_section.hpp"

namespace brood {

// Reads [otlp].  The standard environment variables fill in what the section leaves out; without the section they are
// not read.
void read_otlp(const ConfigSection& section, OtlpSettings& otlp);

}  // namespace brood
