#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "shared/base/clock.hpp"
#include "shared/base/unique_fd.hpp"
#include "shared/config/http_endpoint.hpp"
#include "shared/http/http_answer.hpp"
#include "shared/http/name_lookup.hpp"
#include "shared/redis/tls_certificates.hpp"
#include "shared/redis/tls_session.hpp"

namespace brood {

// A POST request to one path of a server.
struct HttpPost {
  HttpEndpoint endpoint;
  std::string target;   // the path, with the endpoint's own before it, and perhaps a query
  std::string headers;  // further "Name: value" lines, each with CRLF
  std::string content_type = "application/json";
  std::string body;
};

// How a request ended.
struct HttpEnd {
  std::string trouble = {};  // why there is no answer; empty: there is one
  HttpAnswer answer = {};
  bool was_sent = false;  // at least a part of the request was sent
};

// A request to a server, on a connection of its own.  Nothing blocks.
class HttpCall {
 public:
  // `certificates` are for an endpoint with TLS (else null), and must outlive the request.  `section` names the place
  // of its TLS settings, for messages.
  HttpCall(const HttpPost& post, const TlsCertificates* certificates, std::string section, SteadyTime now);

  // The descriptor to poll for events() until deadline(); -1: there is none, so call go_on().
  int fd() const { return lookup_ ? lookup_->fd() : fd_.get(); }
  short events() const;
  SteadyTime deadline() const { return connects_ ? connect_deadline_ : deadline_; }

  // Does what is possible without waiting.  Returns the end of the request once it has come.
  std::optional<HttpEnd> go_on(SteadyTime now);

 private:
  std::optional<HttpEnd> step(SteadyTime now);
  bool connect_to_next(SteadyTime now);
  std::optional<HttpEnd> failed(const std::string& why, SteadyTime now);
  HttpEnd without_answer(std::string why) const;
  std::optional<HttpEnd> converse();
  void send();
  void take(std::string_view bytes);
  const std::string& to_be_sent() const { return tls_ ? tls_->wire() : output_; }

  const std::string host_, section_;
  const TlsCertificates* const certificates_;
  std::optional<NameLookup> lookup_;
  std::deque<NameLookup::Address> addresses_;
  std::string output_;  // the part of the request that is not yet sent, or given to `tls_`
  bool connects_ = false;
  SteadyTime deadline_, connect_deadline_{};  // the latter is of this address
  UniqueFd fd_;
  std::unique_ptr<TlsSession> tls_;
  std::string trouble_;  // with the previous address
  HttpAnswer answer_;
};

}  // namespace brood
