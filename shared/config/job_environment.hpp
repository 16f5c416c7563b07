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

// Jobs, and what they start, find the key files in their environment (BROOD_ENCRYPTION_KEYS), unless they are to find
// no Redis either: "1=/etc/brood/key1,2=/etc/brood/key2,active=1".  Never a key.
void tell_jobs_of_keys(const EncryptionSettings& settings, bool share_with_jobs);

// Takes the variables with secrets of error services ("env:NAME" in [on_error]) from the environment: jobs, and what
// they start, do not find them.
void keep_error_secrets_from_jobs(const ErrorSettings& settings);

// The keys in that variable; none if it is not set.  Throws ConfigError.
EncryptionSettings keys_told(const Environment& environment = process_environment);

}  // namespace brood
