#pragma once

#include <string>

#include "tests/support/redis_server.hpp"
#include "tests/support/temporary_directory.hpp"

namespace brood {

// A certificate authority of the test's own, which signs all kinds of certificates with the openssl program.
class TestAuthority {
 public:
  struct Wish {
    std::string names = "DNS:localhost,IP:127.0.0.1";  // as subjectAltName has them
    int valid_from = -1, valid_to = 30;                // days from now
  };

  explicit TestAuthority(const std::string& name = "Test Authority");

  std::string ca() const { return directory_ / "ca.pem"; }

  // A certificate for a server or a client, signed by this authority.  A server with it accepts client certificates of
  // this authority.
  RedisServer::TlsFiles issue() const { return issue(Wish()); }
  RedisServer::TlsFiles issue(const Wish& wish) const;
  // Files for a server with this authority's own certificate, which is self-signed and for no host.
  RedisServer::TlsFiles self_signed() const { return {.cert = ca(), .key = directory_ / "ca.key", .ca = ca()}; }
  // In the format of `openssl x509 -noout -fingerprint -sha256`, without the words before it.
  std::string fingerprint_of(const RedisServer::TlsFiles& files) const;

 private:
  void openssl(const std::string& words) const;

  TemporaryDirectory directory_;
  mutable int issued_ = 0;
};

}  // namespace brood
