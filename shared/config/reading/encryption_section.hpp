#pragma once

#include "shared/config/encryption_settings.hpp"
#include "shared/config/reading/config_section.hpp"

namespace brood {

// Reads [encryption].
void read_encryption(const ConfigSection& section, EncryptionSettings& encryption);

}  // namespace brood
