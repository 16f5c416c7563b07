#pragma once

#include <string>

#include "shared/base/paths.hpp"
#include "shared/config/encryption_settings.hpp"
#include "shared/config/error_settings.hpp"

namespace brood {

// The shard that the job of this process came from: the variable BROOD_REDIS_SHARD, a name.  A worker sets it for its
// jobs and the programs that they start; clients in them push there as long as it answers.
void tell_shard(const std::string& name);  // empty: takes the variable away

// Returns "" if the variable is not set.
std::string told_shard(const Environment& environment = process_environment);

// Sets BROOD_ENCRYPTION_KEYS for jobs and the programs that they start: "1=/etc/brood/key1,2=/etc/brood/key2,active=1".
// It names the key files, and never contains a key.  Without `share_with_jobs` the variable is removed.
void tell_jobs_of_keys(const EncryptionSettings& settings, bool share_with_jobs);

// Removes the variables with secrets of error services ("env:NAME" in [on_error]) from the environment, so that jobs
// and the programs that they start do not see them.
void keep_error_secrets_from_jobs(const ErrorSettings& settings);

// The settings in BROOD_ENCRYPTION_KEYS; without keys if it is not set.  Throws ConfigError.
EncryptionSettings keys_told(const Environment& environment = process_environment);

}  // namespace brood
