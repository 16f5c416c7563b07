#pragma once

#include "shared/base/paths.hpp"
#include "shared/config/encryption_settings.hpp"

namespace brood {

// Jobs, and what they start, find the key files in their environment (BROOD_ENCRYPTION_KEYS), unless they are to find
// no Redis either: "1=/etc/brood/key1,2=/etc/brood/key2,active=1".  Never a key.
void tell_jobs_of_keys(const EncryptionSettings& settings, bool share_with_jobs);

// What that says; no keys where it says nothing.  Throws ConfigError.
EncryptionSettings keys_told(const Environment& environment = process_environment);

}  // namespace brood
