#pragma once

#include <array>
#include <string>
#include <vector>

struct x509_st;

namespace brood {

// The SHA-256 of a certificate in DER, as `openssl x509 -noout -fingerprint -sha256` prints it.
using Fingerprint = std::array<unsigned char, 32>;

Fingerprint fingerprint_of(const x509_st* certificate);
std::string fingerprint_text(const Fingerprint& fingerprint);  // "AB:CD:..."

// Which certificate of a server is accepted.
struct TlsVerify {
  enum class Kind {
    full,  // one of a trusted authority, for the server's name, and valid now
    pin,   // one of `pins`; its authority, its name and its dates do not matter
    none,  // any: an attacker who redirects the connection can read and change everything
  };
  Kind kind = Kind::full;
  std::vector<Fingerprint> pins = {};

  // "full", "none", or "pin:" and fingerprints with commas between them: 64 hexadecimal digits each, with colons or
  // without.  Throws std::invalid_argument with the second half of a sentence.
  static TlsVerify parse(const std::string& text);
  std::string text() const;

  bool accepts(const Fingerprint& fingerprint) const;
  bool operator==(const TlsVerify&) const = default;
};

}  // namespace brood
