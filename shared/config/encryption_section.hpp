#pragma once

#include "shared/config/config_section.hpp"
#include "shared/config/encryption_settings.hpp"

namespace brood {

// Reads [encryption].
void read_encryption(const ConfigSection& section, EncryptionSettings& encryption);

}  // namespace brood
