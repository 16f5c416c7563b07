#pragma once

#include <stdexcept>
#include <string>

#include "shared/redis/tls_verify.hpp"

namespace brood {

// TLS cannot be used as configured: a file cannot be read, or a key does not belong to its certificate.  what() names
// the setting.
class TlsError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// How a server is connected to by TLS.
struct TlsSettings {
  struct File {
    std::string path;   // empty: none is named
    std::string place;  // where it was set, for errors: "etc/brood.toml:12: redis.tls.ca"

    bool operator==(const File&) const = default;
  };
  enum class Version { tls_1_2, tls_1_3 };

  File ca;                  // certificates to trust, in a file, or in the files of a directory; none: the system's
  File cert;                // ours, with the certificates between it and the authority; none: we show none
  File key;                 // of `cert`; none: it is in that file
  std::string server_name;  // the name that the server's certificate must be for; empty: the host of the address
  Version min_version = Version::tls_1_2;
  TlsVerify verify = {};

  bool operator==(const TlsSettings&) const = default;
};

}  // namespace brood
