#pragma once

#include <sys/socket.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "shared/base/clock.hpp"
#include "shared/base/unique_fd.hpp"
#include "shared/config/http_endpoint.hpp"
#include "shared/redis/tls_certificates.hpp"
#include "shared/redis/tls_session.hpp"
#include "supervisor/otlp/export_verdict.hpp"

namespace brood {

// One request to a collector, on a connection of its own.  Only the name lookup before may block.
class CollectorRequest {
 public:
  // `certificates` are for an endpoint with TLS; they outlive the request.
  CollectorRequest(const HttpEndpoint& endpoint, const TlsCertificates* certificates, const std::string& headers,
                   const std::string& body, SteadyTime now);

  // Poll it for these events until the deadline.  -1: there is none, so call go_on().
  int fd() const { return fd_.get(); }
  short events() const;
  SteadyTime deadline() const { return deadline_; }

  // Goes on as far as it can.  Returns the verdict once there is one.
  std::optional<ExportVerdict> go_on(SteadyTime now);

 private:
  struct Address {
    sockaddr_storage to;
    socklen_t size;
    int family;
  };

  bool connect_to_next();
  std::optional<ExportVerdict> failed(const std::string& why);
  std::optional<ExportVerdict> converse();
  void send();
  void take(std::string_view bytes);
  const std::string& to_be_sent() const { return tls_ ? tls_->wire() : output_; }
  static ExportVerdict again(std::string why);

  const std::string host_;
  const TlsCertificates* const certificates_;
  std::deque<Address> addresses_;
  std::string output_;  // the part of the request that is not yet sent, or given to `tls_`
  bool connects_ = false;
  SteadyTime deadline_;
  UniqueFd fd_;
  std::unique_ptr<TlsSession> tls_;
  std::string trouble_;  // with the previous address
  HttpAnswer answer_;
};

// The extra headers of a request, from a file of "Name: value" lines; each ends with CRLF.  Throws std::runtime_error
// if the file cannot be read or contains anything else.
std::string read_headers(const std::string& path);

}  // namespace brood
