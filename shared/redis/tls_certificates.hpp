#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "shared/base/clock.hpp"
#include "shared/redis/tls_settings.hpp"

namespace brood {

// When the certificates of a TLS connection end; nullopt: that side shows none.
struct CertificateEnds {
  std::optional<WallTime> server, client;
};

// The same, in seconds since the epoch (0: none), so that sessions of any thread can note them.
struct NotedCertificateEnds {
  std::atomic<std::int64_t> server = 0, client = 0;

  CertificateEnds read() const { return {time_of(server.load()), time_of(client.load())}; }

 private:
  static std::optional<WallTime> time_of(std::int64_t seconds) {
    if (seconds == 0) return std::nullopt;
    return WallTime(std::chrono::seconds(seconds));
  }
};

}  // namespace brood

struct ssl_ctx_st;

namespace brood {

// The certificates of the settings, ready for use: the trusted authorities and our own.  Read once, for any number of
// sessions.
class TlsCertificates {
 public:
  // Reads the files.  Throws TlsError.
  explicit TlsCertificates(const TlsSettings& settings);

  // Makes new sessions of all that share this object use the certificates of `newer`.
  void follow(const TlsCertificates& newer) { *this = newer; }

  const std::shared_ptr<ssl_ctx_st>& context() const { return context_; }
  // As seen by the last session that used this object or a copy of it.
  const std::shared_ptr<NotedCertificateEnds>& noted_ends() const { return noted_ends_; }
  const std::string& server_name() const { return server_name_; }  // empty: the host of the address
  const TlsVerify& verify() const { return verify_; }

 private:
  std::shared_ptr<ssl_ctx_st> context_;
  std::shared_ptr<NotedCertificateEnds> noted_ends_ = std::make_shared<NotedCertificateEnds>();
  std::string server_name_;
  TlsVerify verify_;
};

}  // namespace brood
