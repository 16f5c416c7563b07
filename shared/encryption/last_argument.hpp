#pragma once

#include <string>
#include <string_view>

#include "shared/base/secret.hpp"
#include "shared/encryption/envelope.hpp"
#include "shared/job/payload.hpp"

namespace brood {

// A JSON array of arguments, with the last one encrypted.  If it is encrypted already, for this very job, it stays as
// it is, so that a job that is pushed again is not encrypted twice.  Throws std::invalid_argument if there is no
// argument, and KeyError if there is no key.
std::string with_last_argument_sealed(std::string_view args, const KeyRing& keys, const EnvelopeOwner& owner);

// The arguments of a job with `encrypt`, all in clear.  Throws DecryptionError.
Secret arguments_in_clear(const Payload& job, const KeyRing& keys);

}  // namespace brood
