#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "shared/encryption/key_ring.hpp"

// A text that is encrypted by AES-256-GCM:
//
//   brood1.<version of the key>.<base64url(nonce of 12 bytes, ciphertext, tag of 16 bytes)>
//
// It opens only for the same class and jid: they are its additional data, with a line feed between them.
namespace brood {

// An envelope that cannot be opened.  what() has the reason, and nothing of the content.
class DecryptionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The job that an envelope belongs to.
struct EnvelopeOwner {
  std::string_view job_class, jid;
};

// Encrypts by the active key, with a random nonce.  Throws KeyError if there is no key, and std::runtime_error if
// OpenSSL fails.
std::string seal(const KeyRing& keys, std::string_view clear, const EnvelopeOwner& owner);

// Whether a text has the form of an envelope, of any key.
bool is_envelope(std::string_view text);

// The version of an envelope's key; nullopt if the text does not have the form of one.
std::optional<int> envelope_version(std::string_view text);

// Appends the clear text to `into`.  If `into` must grow, its former memory is wiped.  Throws DecryptionError.
void open_envelope(const KeyRing& keys, std::string_view envelope, const EnvelopeOwner& owner, std::string& into);

}  // namespace brood
