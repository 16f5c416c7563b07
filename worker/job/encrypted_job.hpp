#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "shared/config/encryption_settings.hpp"
#include "shared/encryption/key_ring.hpp"
#include "shared/job/payload.hpp"
#include "shared/job/retry_decision.hpp"

namespace brood {

// Returns whether the last argument is encrypted, according to the payload.
inline bool is_encrypted(const Payload& job) { return job.truthy("encrypt"); }

// Decrypts the arguments: Payload::args_in_clear() has them from now on.  Unless the settings allow core files, this
// process and those that it starts write none from now on, since copies that the job's code made of the arguments stay
// in memory after the job.  Returns the failure if the arguments cannot be decrypted, else nullopt.
std::optional<Failure> open_arguments(Payload& job, const KeyRing& keys, const EncryptionSettings& settings);

// The failure of a job that came with arguments in clear although its class encrypts them.
Failure not_encrypted(const Payload& job);

// The message of an error as it may be stored and logged.  brood's own message about an argument that does not fit
// would show the argument, so the argument is left out.  Messages of the job's own exceptions are not changed.
std::string shown_message(const Payload& job, std::string_view error_class, std::string message);

}  // namespace brood
