#pragma once

#include <memory>
#include <string>

#include "shared/redis/certificate_ends.hpp"
#include "shared/redis/tls_settings.hpp"

struct ssl_ctx_st;

namespace brood {

// How TLS is spoken, ready for use: whom we trust and who we are, as the files of the settings say.  Read once, for any
// number of sessions.
class TlsCertificates {
 public:
  // Reads the files.  Throws TlsError.
  explicit TlsCertificates(const TlsSettings& settings);

  // From now on, new sessions of all who share this object use what `newer` has read.
  void follow(const TlsCertificates& newer) { *this = newer; }

  const std::shared_ptr<ssl_ctx_st>& context() const { return context_; }
  // As the last session of those who share this object, or a copy of it, has seen them.
  const std::shared_ptr<NotedCertificateEnds>& noted_ends() const { return noted_ends_; }
  const std::string& server_name() const { return server_name_; }  // empty: the host of the address

 private:
  std::shared_ptr<ssl_ctx_st> context_;
  std::shared_ptr<NotedCertificateEnds> noted_ends_ = std::make_shared<NotedCertificateEnds>();
  std::string server_name_;
};

}  // namespace brood
