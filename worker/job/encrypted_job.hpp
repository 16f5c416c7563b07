#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "shared/config/encryption_settings.hpp"
#include "shared/encryption/key_ring.hpp"
#include "shared/job/payload.hpp"
#include "shared/job/retry_decision.hpp"

namespace brood {

// Whether the payload says that the last argument is encrypted.
inline bool is_encrypted(const Payload& job) { return job.truthy("encrypt"); }

// The code of an encrypted job is given its arguments in clear from now on: Payload::args_in_clear().  From then on
// this process leaves no core file for as long as it lives, and nor does what it starts, unless the settings allow it:
// what the job's code has copied lies about in its memory, also when that job is done.  Returns why they cannot be
// opened.
std::optional<Failure> open_arguments(Payload& job, const KeyRing& keys, const EncryptionSettings& settings);

// The failure of a job that came in clear, though its class says that its jobs are encrypted.
Failure not_encrypted(const Payload& job);

// The message of an error as it may be stored and logged: ours of an argument that does not fit would show it.  What
// the job's own exceptions say is its author's matter.
std::string shown_message(const Payload& job, std::string_view error_class, std::string message);

}  // namespace brood
