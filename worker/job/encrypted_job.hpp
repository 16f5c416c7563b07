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
// process and those that it starts write none from now on: the code of the job may have copied the arguments, and the
// copies stay in memory after the job.  Returns why the arguments cannot be decrypted, if they cannot.
std::optional<Failure> open_arguments(Payload& job, const KeyRing& keys, const EncryptionSettings& settings);

// The failure of a job whose class encrypts its arguments, and which came with arguments in clear.
Failure not_encrypted(const Payload& job);

// The message of an error as it may be stored and logged.  Our own message about an argument that does not fit would
// show the argument, so that is left out.  The author of the job answers for the messages of its own exceptions.
std::string shown_message(const Payload& job, std::string_view error_class, std::string message);

}  // namespace brood
